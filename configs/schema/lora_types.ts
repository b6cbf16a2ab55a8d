/**
 * Types of the values in section `lora` that name modules of a model: names, ends of paths, regular
 * expressions for paths, and maps of them.
 */
import { type ConfigNode, describeNode } from "../documents/node.ts";
import {
  choice,
  type Complain,
  either,
  float,
  listOf,
  mapOf,
  refine,
  text,
  type ValueType,
} from "../types/value_types.ts";

/**
 * Linear modules that can have an adapter: those of a layer (of Llama, GPT-2, Phi, Granite 4,
 * LFM2 and Qwen3.5), the head, and tables of embeddings.
 */
const LORA_MODULES =
  ("q_proj k_proj v_proj o_proj gate_proj up_proj down_proj c_attn c_proj c_fc " +
    "qkv_proj gate_up_proj input_linear output_linear in_proj out_proj w1 w2 w3 in_proj_qkv " +
    "in_proj_z in_proj_b in_proj_a lm_head embed_tokens wte").split(" ");

/** A linear module, by its name or by the end of its path: "q_proj", "layers.3.mlp.up_proj". */
function linearModule(): ValueType<string> {
  const bare = choice(LORA_MODULES);
  return {
    expected: bare.expected,
    ts: "string",
    read(node, complain) {
      const value = node.kind === "scalar" ? node.value : null;
      const last = typeof value === "string" ? value.split(".").at(-1) : undefined;
      if (LORA_MODULES.some((module) => module === last)) return value as string;
      return bare.read(node, complain);
    },
  };
}

/**
 * A regular expression for the whole path of a module, or one of `words`. A bare name is refused,
 * because as an expression it would match no path; so are several names in one text.
 */
function pathPattern(words: readonly string[]): ValueType<string> {
  const expected = [...words, "a regular expression for the whole path"].join(" or ");
  return {
    expected,
    ts: "string",
    read(node, complain) {
      const value = node.kind === "scalar" ? node.value : null;
      if (typeof value !== "string" || /^\w+$/.test(value) || value === "") {
        if (typeof value === "string" && words.includes(value)) return value;
        return complain(node.at, `expected ${expected}, found ${describeNode(node)}`);
      }
      if (/^[\w.]+(?:[\s,]+[\w.]+)+$/.test(value)) {
        const list = value.split(/[\s,]+/).join(", ");
        return complain(node.at, `a text is one regular expression; of several modules: [${list}]`);
      }
      if (words.includes(value) || compiles(value)) return value;
      return complain(node.at, `${JSON.stringify(value)} is no valid regular expression`);
    },
  };
}

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern) !== null;
  } catch {
    return false;
  }
}

/** The type of target_modules. */
export function targetModules(): ValueType<string[] | string> {
  const list = listOf(linearModule(), `a list of ${LORA_MODULES.join(", ")}`);
  const atLeastOne = (modules: string[]) =>
    modules.length > 0 ? null : "expected at least one module";
  return either(pathPattern(["all-linear"]), refine(list, atLeastOne));
}

/** The type of exclude_modules. */
export function excludedModules(): ValueType<string[] | string> {
  return either(pathPattern([]), listOf(text(), "a list of module names"));
}

export function moduleNames(): ValueType<string[]> {
  const notEmpty = (names: string[]) => names.includes("") ? "a name is empty" : null;
  return refine(listOf(text(), "a list of module names"), notEmpty);
}

/** A map of numbers by module; a module is a name, an end of a path, or a regular expression. */
export function modulePattern(value: ValueType<number> = float({ above: 0 })) {
  const type = mapOf(value, `a map of module names to ${value.expected}`);
  return {
    ...type,
    read(node: ConfigNode, complain: Complain) {
      const wrong = node.kind === "map"
        ? [...node.entries].find(([name]) => !compiles(name))
        : undefined;
      if (wrong === undefined) return type.read(node, complain);
      return complain(wrong[1].keyAt, "is no valid regular expression", `.${wrong[0]}`);
    },
  };
}
