/** Array jobs for training: each element is a combination of a hyperparameter search, or a seed. */
import { keyBeginning } from "../configs/reading/key_names.ts";
import { UsageError } from "../core/errors.ts";
import { fileName } from "../core/paths.ts";

export interface Variant {
  index: number;
  overrides: string[];
  /** The text that is appended to the names of the run and its folder. */
  label: string;
}

/** Maximum number of elements that SLURM allows by default (MaxArraySize 1001). */
const MAX_ELEMENTS = 1001;

export interface ArraySpec {
  /** null = all elements. */
  indices: number[] | null;
  /** Maximum number of elements that run in parallel; null = no limit. */
  maxParallel: number | null;
}

/**
 * Parses `0-7`, `1,3,5` or `0-20:5`, each optionally followed by `%2`, or `%2` alone. `%2` means
 * that at most two elements run in parallel.
 * @throws UsageError
 */
export function parseArray(text: string): ArraySpec {
  const wrong = () =>
    new UsageError(`--array ${text}: expected for example 0-7, 1,3,5 or 0-7%2`, {
      advice: `Numbers from 0 to ${MAX_ELEMENTS - 1}; %2: two at a time.`,
    });
  const [, list, limit] = /^([0-9,:-]*)(?:%([1-9][0-9]{0,5}))?$/.exec(text) ?? [];
  if (list === undefined || (list === "" && limit === undefined)) throw wrong();
  const indices: number[] = [];
  for (const part of list === "" ? [] : list.split(",")) {
    const [, from, to = from, step = "1"] = /^(\d{1,7})(?:-(\d{1,7})(?::([1-9]\d{0,6}))?)?$/
      .exec(part) ?? [];
    if (from === undefined || Number(to) < Number(from) || Number(to) >= MAX_ELEMENTS) {
      throw wrong();
    }
    for (let i = Number(from); i <= Number(to); i += Number(step)) indices.push(i);
  }
  return {
    indices: list === "" ? null : [...new Set(indices)].sort((a, b) => a - b),
    maxParallel: limit === undefined ? null : Number(limit),
  };
}

export function arrayOption(indices: readonly number[], maxParallel: number | null): string {
  const first = indices[0]!, last = indices.at(-1)!;
  const list = indices.length > 1 && last - first + 1 === indices.length
    ? `${first}-${last}`
    : indices.join(",");
  return maxParallel === null ? list : `${list}%${maxParallel}`;
}

/**
 * All combinations of `key=value,value`, the last key changing fastest.
 * @param flag what stands before a key on the command line
 * @throws UsageError
 */
export function sweepVariants(sweeps: readonly string[], flag = "--sweep "): Variant[] {
  const axes = sweeps.map((text) => parseSweep(text, flag));
  const keys = axes.map(({ key }) => key);
  const meant = keys.map(canonicalKey);
  const twice = meant.findIndex((key, i) => meant.indexOf(key) !== i);
  if (twice >= 0) {
    const first = keys[meant.indexOf(meant[twice]!)]!;
    const also = first === keys[twice] ? "" : ` (${first} is the same key)`;
    throw new UsageError(`${flag}${keys[twice]}: is named twice${also}`);
  }
  const ofJob = meant.findIndex((key) => key.startsWith("slurm."));
  if (ofJob >= 0) {
    throw new UsageError(`${flag}${keys[ofJob]}: training reads nothing of section slurm`, {
      advice: "The elements of an array are one job: rgx slurm takes one value of it.",
    });
  }
  const given = meant.findIndex((key) => RESERVED_KEYS.includes(key));
  if (given >= 0) {
    throw new UsageError(
      `${flag}${keys[given]}: each element gets a run and a folder of its own`,
      {
        advice: `Without commas ${keys[given]}=NAME is the beginning of their names.`,
      },
    );
  }
  const count = axes.reduce((product, { values }) => product * values.length, 1);
  if (count > MAX_ELEMENTS) {
    throw new UsageError(
      `a sweep of ${count} combinations; expected at most ${MAX_ELEMENTS} (as an array job)`,
    );
  }
  let combinations: string[][] = [[]];
  for (const { values } of axes) {
    combinations = combinations.flatMap((before) => values.map((value) => [...before, value]));
  }
  const names = shortNames(keys), taken = new Set<string>();
  return combinations.map((values, index) => {
    const name = fileName(values.map((value, i) => `${names[i]}-${value}`).join("_"));
    const label = taken.has(name) ? `${name}_${index}` : name;
    taken.add(label);
    return { index, overrides: values.map((value, i) => `${keys[i]}=${value}`), label };
  });
}

/** Keys that are set from the label of an element and cannot be swept. */
const RESERVED_KEYS = ["training.output_dir", "logging.run_name"];

function canonicalKey(key: string): string {
  const known = keyBeginning(key);
  return known === null ? key : [known.path, ...known.rest].join(".");
}

/** Variants that differ in their seed only, which is `seed + index`. */
export function seedVariants(indices: readonly number[], seed: number): Variant[] {
  return indices.map((index) => ({
    index,
    overrides: [`training.seed=${seed + index}`],
    label: `seed-${seed + index}`,
  }));
}

/** The last part of each key, or the full key if several have the same last part. */
function shortNames(keys: readonly string[]): string[] {
  const last = keys.map((key) => key.slice(key.lastIndexOf(".") + 1));
  return last.map((name, i) => last.filter((other) => other === name).length > 1 ? keys[i]! : name);
}

function parseSweep(text: string, flag: string): { key: string; values: string[] } {
  const at = text.indexOf("=");
  const key = text.slice(0, Math.max(0, at)).trim();
  const values = at < 0 ? [] : splitValues(text.slice(at + 1));
  if (!/^[A-Za-z_][A-Za-z0-9_.]*$/.test(key) || values.some((value) => value === "")) {
    throw new UsageError(`${flag}${text}: expected KEY=VALUE,VALUE`, {
      advice: `For example ${flag}training.learning_rate=1e-6,2e-6`,
    });
  }
  const twice = values.find((value, i) => values.indexOf(value) !== i);
  if (twice !== undefined) throw new UsageError(`${flag}${key}: the value ${twice} is given twice`);
  return { key, values };
}

/** Splits at commas outside of brackets and quotes. */
export function splitValues(text: string): string[] {
  const values = [""];
  let depth = 0, quote = "";
  for (const character of text) {
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
    else if ("[{".includes(character)) depth++;
    else if ("]}".includes(character)) depth--;
    if (character === "," && depth === 0 && quote === "") values.push("");
    else values[values.length - 1] += character;
  }
  return values.map((value) => value.trim());
}
