/**
 * New names for models in charts: `--rename A=B`, and files of such names. A model can be given by
 * its full name, or by its short name in the table of `rgx bench`. A rename that fits no model is
 * an error with the nearest name. A file may also name models that are not in these results, since
 * it may serve many charts; one of its names must fit.
 */
import { parse } from "yaml";
import { shortName, shownNames } from "../../bench/results/shown_names.ts";
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { readText, whyUnreadable } from "../../core/text_file.ts";

/** A rename, and where the user gave it. */
export interface Rename {
  from: string;
  to: string;
  place: string;
}

/**
 * Reads `A=B`. If a name contains `=`, the text is split at the last `=` after a model's name.
 * @throws UsageError
 */
export function parseRename(text: string, models: readonly string[]): Rename {
  const place = `--rename ${text}`;
  const cuts = [...text.matchAll(/=/g)].map(({ index }) => index);
  const known = cuts.findLast((at) => meantBy(text.slice(0, at), models).length > 0);
  const at = known ?? cuts[0] ?? -1;
  const from = text.slice(0, at), to = text.slice(at + 1).trim();
  if (at <= 0 || to === "") {
    throw new UsageError(`${place}: expected "name of a model=name in the chart"`);
  }
  return { from, to, place };
}

/** The models that a name means: the one with this name, or all with this short name. */
function meantBy(name: string, models: readonly string[]): string[] {
  if (models.includes(name)) return [name];
  const short = name.replace(/\/+$/, "");
  return models.filter((model) => shortName(model) === short);
}

/**
 * The names of a JSON or YAML object that fit a model of these results.
 * @param notes one is added for each name that fits none, which may be a typo
 * @throws UsageError when it cannot be read, is something else, or has no such name
 */
export async function readRenameFile(
  path: string,
  models: readonly string[],
  notes: string[],
): Promise<Rename[]> {
  let text: string, names: unknown;
  try {
    text = await readText(path);
  } catch (cause) {
    throw new UsageError(`cannot read the rename file ${path}: ${whyUnreadable(cause)}`, { cause });
  }
  try {
    // JSON.parse would silently keep the last of two equal keys.
    names = parse(text);
  } catch (cause) {
    const [line] = (cause as Error).message.split("\n");
    throw new UsageError(`${path}: ${line!.replace(/:$/, "")}`, { cause });
  }
  const isMap = typeof names === "object" && names !== null && !Array.isArray(names);
  if (!isMap || Object.values(names!).some((to) => typeof to !== "string" || to.trim() === "")) {
    throw new UsageError(`${path}: expected an object of names, {"model": "name in the chart"}`);
  }
  const renames = Object.entries(names as Record<string, string>)
    .map(([from, to]) => ({ from, to: to.trim(), place: path }));
  const fitting = renames.filter(({ from }) => meantBy(from, models).length > 0);
  const others = renames.filter((rename) => !fitting.includes(rename));
  const unknown = others.map((rename) => unknownModel(rename, models));
  if (fitting.length === 0 && unknown.length > 0) throw unknown[0]!;
  notes.push(...unknown.map(({ message }) => message));
  return fitting;
}

/**
 * The new names of the models that are renamed.
 * @throws UsageError when a model is renamed twice, two models get one name, or a name is unknown
 */
export function resolveRenames(
  renames: readonly Rename[],
  models: readonly string[],
): Map<string, string> {
  const names = new Map<string, string>();
  for (const rename of renames) {
    const { to, place } = rename, meant = meantBy(rename.from, models), [from] = meant;
    if (from === undefined) throw unknownModel(rename, models);
    if (meant.length > 1) {
      throw new UsageError(`${place}: "${rename.from}" means ${meant.length} models`, {
        advice: `Write one of: ${meant.join(", ")}.`,
      });
    }
    if (names.has(from)) {
      const text = `"${from}" is renamed twice, to "${names.get(from)}" and to "${to}"`;
      throw new UsageError(`${place}: ${text}`);
    }
    names.set(from, to);
  }
  const taken = new Map<string, string>();
  for (const model of models) {
    const name = names.get(model) ?? model, other = taken.get(name);
    if (other !== undefined) {
      throw new UsageError(`"${other}" and "${model}" would both be called "${name}"`, {
        advice: "Give each model a name of its own.",
      });
    }
    taken.set(name, model);
  }
  return names;
}

/** The new names; all other models get the short names of the table, if those are distinct. */
export function withShortNames(
  names: ReadonlyMap<string, string>,
  models: readonly string[],
): Map<string, string> {
  const short = shownNames(models);
  const all = new Map(models.map((model, i) => [model, names.get(model) ?? short[i]!]));
  return new Set(all.values()).size === models.length ? all : new Map(names);
}

function unknownModel({ from, place }: Rename, models: readonly string[]): UsageError {
  // People type the last part of a path, although it is far from the whole path.
  const [longer] = models.filter((model) => model.includes(from));
  const meant = longer === undefined ? didYouMean(from, models) : `, did you mean ${longer}?`;
  const text = `${place}: no model "${from}" in these results${meant}`;
  return new UsageError(text, { advice: `models: ${models.join(", ")}` });
}
