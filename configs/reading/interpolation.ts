/**
 * Replaces `${a.b}` (another key, by its full path), `${oc.env:NAME}`, `${oc.env:NAME,default}` and
 * `${env:…}`; and in files `{{ fileBasenameNoExtension }}` and `{{ fileDirname }}`. A value that is
 * nothing but one `${…}` keeps the type of the value that it names. `\${` and `\{{` are written for
 * a literal `${` and `{{`. A name that cannot be resolved is an error. `${oc.select:a.b,default}`
 * is a key with a default. Of OmegaConf's grammar, other resolvers are not supported.
 */
import { basename } from "node:path";
import { didYouMean } from "../../core/suggest.ts";
import {
  type ConfigNode,
  DEFAULTS,
  fromJson,
  type Json,
  mapChildren,
  type MapNode,
  mapScalars,
  nodeAt,
  nowhere,
  Problems,
  type ScalarNode,
  type Source,
} from "../documents/node.ts";
import { isUnread, keyBeginning, KEYS } from "./key_names.ts";
import { REQUIRED } from "../types/key_spec.ts";
import { parseValue, plainScalar } from "../documents/yaml_source.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether an environment variable is a secret. Secrets are never written to a file. */
export function isSecretName(name: string): boolean {
  return /(^|_)(KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)/i.test(name);
}

const FILE_VARIABLE = /(\\?)\{\{\s*(fileBasenameNoExtension|fileDirname)\s*\}\}/g;

/** Replaces `{{ fileBasenameNoExtension }}` and `{{ fileDirname }}` in all texts of a file. */
export function withFileVariables(node: ConfigNode, source: Source): ConfigNode {
  return mapScalars(node, (scalar) => {
    if (typeof scalar.value !== "string") return scalar;
    const value = scalar.value.replace(FILE_VARIABLE, (whole, escape, name) => {
      if (escape !== "") return whole.slice(1);
      return name === "fileDirname" ? source.directory ?? "" : stem(source.name);
    });
    return { ...scalar, value };
  });
}

/** Escapes a text so that reading it gives the same text. */
export function escapeText(text: string): string {
  return text.replaceAll("${", "\\${").replace(
    FILE_VARIABLE,
    (whole, escape) => escape + "\\" + whole.slice(escape.length),
  );
}

/** File name without folder and extension. */
export function stem(name: string): string {
  return basename(name).replace(/\.(ya?ml|json)$/i, "");
}

/** The tree with every `${…}` replaced. `tree` is canonical. Keys are looked up in `root`. */
export function interpolate(
  tree: MapNode,
  environment: Environment,
  problems: Problems,
  root: MapNode = tree,
): MapNode {
  return new Interpolation(root, environment, problems).resolve(tree, "") as MapNode;
}

/** Interpolates one text outside of a tree (`_base_`). It may only name environment variables. */
export function interpolateText(
  node: ScalarNode,
  key: string,
  environment: Environment,
  problems: Problems,
): ScalarNode | null {
  const before = problems.count;
  const nothing: MapNode = { kind: "map", entries: new Map(), at: node.at };
  const result = new Interpolation(nothing, environment, problems, false).resolve(node, key);
  return problems.count > before || result.kind !== "scalar" ? null : result;
}

/** Limits for texts that refer to each other and double in length each time. */
const MAX_LENGTH = 1_000_000;
const MAX_EXPRESSIONS = 10_000;

class Interpolation {
  #expressions = 0;
  /** The keys that are being resolved, the outermost first. */
  #open: readonly string[] = [];

  constructor(
    readonly root: MapNode,
    readonly environment: Environment,
    readonly problems: Problems,
    readonly keysAllowed = true,
  ) {}

  resolve(node: ConfigNode, key: string): ConfigNode {
    if (node.foreign === undefined) return this.#resolve(node, key);
    const { foreign } = node;
    if (!isUnread(key)) return { ...this.#resolve(node, key), foreign };
    // The value is never used, so it may contain expressions that only the other project knows.
    const lenient = new Interpolation(this.root, this.environment, new Problems());
    return { ...lenient.#resolve(node, key), foreign };
  }

  #resolve(node: ConfigNode, key: string): ConfigNode {
    if (node.kind === "scalar") {
      return typeof node.value === "string" ? this.#text(node, node.value, key) : node;
    }
    return mapChildren(node, (child, key) => this.resolve(child, key), key);
  }

  #text(node: ScalarNode, text: string, key: string): ConfigNode {
    if (!text.includes("${")) return { ...node, value: text };
    const fail = (why: string): ScalarNode => {
      this.problems.add(node.at, key, why);
      return { kind: "scalar", value: null, at: node.at };
    };
    let result = "";
    let secret = false;
    let i = 0;
    while (i < text.length) {
      const start = text.indexOf("${", i);
      if (start < 0) {
        result += text.slice(i);
        break;
      }
      if (text[start - 1] === "\\") {
        result += text.slice(i, start - 1) + "${";
        i = start + 2;
        continue;
      }
      const end = closingBrace(text, start + 2);
      if (end < 0) return fail(`\${ without a closing } in ${JSON.stringify(text)}`);
      const inner = this.#text(node, text.slice(start + 2, end), key);
      if (inner.kind !== "scalar" || typeof inner.value !== "string") return inner;
      if (inner.secret !== undefined) secret = true;
      if (++this.#expressions > MAX_EXPRESSIONS) return fail("too many values refer to each other");
      const value = this.#expression(inner.value, node, key);
      if (typeof value === "string") return fail(value);
      if (value.kind === "scalar" && value.secret !== undefined) secret = true;
      const original = secret ? { secret: text } : {};
      if (start === 0 && end === text.length - 1) {
        return value.kind === "scalar" ? { ...value, at: node.at, ...original } : value;
      }
      if (value.kind !== "scalar") {
        return fail(`\${${inner.value}} is a ${value.kind} and can not be part of a text`);
      }
      result += text.slice(i, start) + (value.raw ?? String(value.value));
      i = end + 1;
      if (result.length > MAX_LENGTH) return fail(`longer than ${MAX_LENGTH} characters`);
    }
    // `raw` would still hold the expression in place of its value.
    const { raw: _, ...rest } = node;
    return { ...rest, value: result, ...(secret ? { secret: text } : {}) };
  }

  /** The value of the expression between the braces, or a text that says why it has no value. */
  #expression(expression: string, node: ScalarNode, key: string): ConfigNode | string {
    const variable = /^\s*(?:oc\.)?env:\s*([^,\s]+)\s*(?:,([^]*))?$/.exec(expression);
    if (variable !== null) {
      const [, name, otherwise] = variable;
      const text = this.environment[name!] ?? otherwise?.trim().replace(/^(["'])([^]*)\1$/, "$2");
      if (text === undefined) {
        return `environment variable ${name} is not set, needed by \${${expression}}` +
          `; a default is written \${oc.env:${name},default}`;
      }
      const secret = isSecretName(name!) ? { secret: "" } : {};
      return { kind: "scalar", value: plainScalar(text), raw: text, at: node.at, ...secret };
    }
    const select = /^\s*oc\.select:\s*([\w-]+(?:\.[\w-]+)*)\s*(?:,([^]*))?$/.exec(expression);
    if (select !== null) return this.#select(select[1]!, select[2]?.trim() ?? "null", node, key);
    if (!/^[\w-]+(\.[\w-]+)*$/.test(expression)) {
      return `\${${expression}} is neither a key nor oc.env:NAME[,default]`;
    }
    if (!this.keysAllowed) {
      return `\${${expression}}: only environment variables can be used here`;
    }
    return this.#key(expression, key);
  }

  /** `${oc.select:a.b,default}`: the value of a key, or the default where it is not written. */
  #select(written: string, otherwise: string, node: ScalarNode, key: string): ConfigNode | string {
    const known = keyBeginning(written);
    const path = known === null ? written : [known.path, ...known.rest].join(".");
    if (nodeAt(this.root, path) !== undefined) return this.#key(written, key);
    return { ...parseValue(otherwise, node.at.source, this.problems, key), at: node.at };
  }

  #key(written: string, key: string): ConfigNode | string {
    const known = keyBeginning(written);
    const parts = known === null ? written.split(".") : [...known.path.split("."), ...known.rest];
    const path = parts.join(".");
    const before = this.#open;
    const chain = before.length === 0 ? [key] : before;
    if (chain.includes(path)) {
      return `\${${written}} leads back to itself: ${[...chain, path].join(" → ")}`;
    }
    this.#open = [...chain, path];
    const value = this.#walk(parts);
    this.#open = before;
    if (value !== undefined) return value;
    const byDefault = known?.rest.length === 0 ? defaultNode(known.path) : undefined;
    if (byDefault !== undefined) return byDefault;
    return known === null
      ? `\${${written}} names no key${didYouMean(written, KEYS.keys())}`
      : `\${${written}} has no value`;
  }

  /** The resolved value at a path. A value on the way may itself be a `${…}`. */
  #walk(parts: readonly string[]): ConfigNode | undefined {
    let node: ConfigNode | undefined = this.root;
    for (const [i, part] of parts.entries()) {
      if (node.kind === "scalar") node = this.resolve(node, parts.slice(0, i).join("."));
      node = nodeAt(node, [part]);
      if (node === undefined) return undefined;
    }
    return this.resolve(node, parts.join("."));
  }
}

function defaultNode(path: string): ConfigNode | undefined {
  const value = KEYS.get(path)?.default;
  if (value === undefined || value === REQUIRED || typeof value === "function") return undefined;
  return fromJson(value as Json, nowhere(DEFAULTS));
}

/** Index of the `}` that closes an expression, whose content begins at `from`; −1 = none. */
function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    if (text[i] === "{") depth++;
    else if (text[i] === "}" && --depth === 0) return i;
  }
  return -1;
}
