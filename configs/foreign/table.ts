/**
 * The keys of one other project, as one table of text. `[a.b]` begins the keys of a section, `[a.b,
 * c]` those that stand in each of several (`[, a]`: also at the top). Then a line has one or
 * several keys:
 *
 *     lr = training.learning_rate                 obeyed: another name of a key of rgx
 *     temperature top_p = training.*              … of the key of that name in a section
 *     save_freq: int>=-1? -> >0: training.save_steps; <=0: training.save_strategy=no
 *     - strategy fsdp_size: why                   without effect: it steers another engine
 *     ~ gamma lam: what                           acts only with what is refused, or not there
 *     ! adv_estimator ["grpo"]: advice            refused, but for these values and null
 *     ? fsdp ["", false]: advice                  noted at any other value, or at those
 *     ? overwrite_output_dir [false] [true]: advice   of a second list
 *
 * A rule may name two keys for a pair of numbers, and end in conditions on other keys. It may also
 * set only what is not written, or give a message:
 *
 *     betas: pair? -> training.adam_beta1, training.adam_beta2
 *     alpha: number? -> lora.lora_alpha if x.rank    where x.rank is neither null, 0 nor false
 *     bf16: bool? -> true: a.b=c if !x.dtype         where it is
 *     tau: number? -> a.b if x.mode=sapo|gspo & y>0  where it has one of these values, and y > 0
 *     rank: int? -> >0: fill lora.lora_alpha=16      the other project's default
 *     k.top_p: any -> override training.top_p        wins over that key, with a note
 *     kl: one a|b? -> !b: note "{x.kl} is b here"    or refuse "…"; {x.kl} is the value of that key
 *
 * A key with a type is checked like one of rgx, then its rules, or the functions of its project,
 * set keys of rgx. What follows ` -- ` explains it, where the rules do not say all. Names after `/`
 * stand at the top, and are other spellings. `section.*` is all that stands in a section and is not
 * listed by itself, `wandb_*` all that begins so. A deeper line goes on with the one above.
 */
import type { Json } from "../documents/node.ts";
import { key, type KeySpec } from "../types/key_spec.ts";
import { typeOf } from "../types/type_words.ts";
import { float, listOf } from "../types/value_types.ts";

/** In every list a key is written in full: `num_epochs` or `training.num_epochs`. */
export interface ForeignTable {
  readonly project: string;
  /** Spellings of keys that rgx obeys → rgx's canonical key. */
  readonly obeyed: Record<string, string>;
  /** Keys that set several keys of rgx, or depend on others. They are checked like rgx's keys. */
  readonly translated: Record<string, KeySpec>;
  /** Translated keys → the keys of rgx that their values set. */
  readonly rules: Record<string, readonly Rule[]>;
  /** Keys that rgx does not obey. */
  readonly listed: Record<string, ListedKey>;
}

/** What some values of another project's key do. */
export interface Rule {
  /** Whether the rule applies to a value. */
  when(value: Json): boolean;
  /** Conditions on other keys, all of which must hold. */
  only: readonly string[];
  action: "set" | "fill" | "override" | "note" | "refuse";
  /** Dotted keys of rgx: one, or two for a pair of numbers. Of a message: its text alone. */
  paths: readonly string[];
  /** Undefined: the value itself. */
  value: Json | undefined;
}

/** A key that rgx does not obey. */
export interface ListedKey {
  /**
   * "no effect": the key changes no result here; a note says so. "acts with": the key acts only
   * together with another key, and there is no note. "refused": the key would change results.
   */
  readonly kind: "no effect" | "acts with" | "refused";
  /** The project whose key it is. */
  readonly project: string;
  /**
   * Why it has no effect; or the key that it acts with; or how rgx writes it, or why not at all.
   */
  readonly why: string;
  /** Values of a refused key that change nothing, besides null and what is empty. */
  readonly neutral: readonly Json[];
  /** Further values that are accepted, with a note. */
  readonly noted: readonly Json[] | "any";
}

/** Reads a table. @param project whose keys they are, for the page */
export function table(project: string, lines: string): ForeignTable {
  const made: ForeignTable = { project, obeyed: {}, translated: {}, rules: {}, listed: {} };
  let sections = [""];
  for (const line of lines.trim().replace(/\n\s+/g, " ").split("\n")) {
    const [, inside] = /^\[(.*)\]$/.exec(line) ?? [];
    if (inside !== undefined) sections = inside.split(",").map((section) => section.trim());
    else if (line !== "") addLine(made, project, line, sections);
  }
  return made;
}

function addLine(
  made: ForeignTable,
  project: string,
  line: string,
  sections: readonly string[],
): void {
  const parts = /^([-~!?] )?([^:=[]+?)(?: (\[.*?\]))?(?: (\[.*?\]))?( = |: )(.*)$/.exec(line);
  if (parts === null) throw new Error(`table of ${project}: cannot read ${line}`);
  const [, kind = "", list, neutral = "[]", others, sign, rest] = parts;
  const names = list!.split(" "), isObeyed = sign === " = ";
  const type = kind === "" && !isObeyed ? typedLine(rest!) : null;
  for (const section of sections) {
    const paths = names.map((name) =>
      name.startsWith("/") ? name.slice(1) : section === "" ? name : `${section}.${name}`
    );
    if (type !== null) {
      const [path, ...aliases] = paths as [string, ...string[]];
      made.translated[path] = { ...type.spec, aliases };
      if (type.rules.length > 0) made.rules[path] = type.rules;
      continue;
    }
    for (const path of paths) {
      if (isObeyed) made.obeyed[path] = rest!.replace("*", path.split(".").at(-1)!);
      else {
        if (made.listed[path] !== undefined) {
          throw new Error(`table of ${project}: ${path} stands there twice`);
        }
        made.listed[path] = {
          kind: kind === "- " ? "no effect" : kind === "~ " ? "acts with" : "refused",
          project,
          why: rest!,
          neutral: JSON.parse(neutral),
          noted: others !== undefined ? JSON.parse(others) : kind === "? " ? "any" : [],
        };
      }
    }
  }
}

const PAIR = listOf(float(), "a list of two numbers");

function typedLine(line: string): { spec: KeySpec; rules: Rule[] } {
  const [before, written] = line.split(" -- ") as [string, string?];
  const [type, rules = ""] = before.split(" -> ") as [string, string?];
  const doc = written ?? rules.replace(/\bfill (\S+?)(?=;|$)/g, "$1 unless written");
  return {
    spec: key<unknown>(typeOf(type, { pair: PAIR }), type === "bool" ? false : null, doc),
    rules: rules.match(/(?:[^;"]|"[^"]*")+/g)?.map((rule) => ruleOf(rule.trim())) ?? [],
  };
}

/** `path`, `>0: path`, `true: fill path=false`, `a|b: note "text"`, `path, path`, `path if key` */
function ruleOf(line: string): Rule {
  const [, condition, action = "set", text, paths = text, value, only] =
    /^(?:(\S+): )?(?:(fill|override|note|refuse) )?(?:"(.*)"|([\w.]+(?:, [\w.]+)?))(?:=(.*?))?(?: if (.+))?$/
      .exec(line)!;
  return {
    only: only?.split(" & ") ?? [],
    action: action as Rule["action"],
    paths: text === undefined ? paths!.split(", ") : [text],
    value: value === undefined
      ? undefined
      : /^[a-z][\w-]*$/.test(value) && !/^(true|false)$/.test(value)
      ? value
      : JSON.parse(value),
    when: (written) => condition === undefined || fits(written, condition),
  };
}

/** Whether a value is one of `a|b`, none of `!a|b`, or within a bound: `>0`. */
export function fits(value: Json, wanted: string): boolean {
  if (wanted.startsWith("!")) return !fits(value, wanted.slice(1));
  const [, sign, bound] = /^([<>]=?)(.*)$/.exec(wanted) ?? [];
  if (sign === undefined) return wanted.split("|").includes(String(value));
  if (typeof value !== "number") return false;
  const above = value - Number(bound);
  return sign.endsWith("=") && above === 0 || (sign.startsWith(">") ? above > 0 : above < 0);
}
