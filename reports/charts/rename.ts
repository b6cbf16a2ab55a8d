/**
 * New names for models in charts: `--rename A=B`, and files of such names. A model can be given by
 * its full name, or by its short name in the table of `rgx bench`. If a rename fits no model, an
 * error suggests the nearest name; otherwise nobody would notice a typo. A file may also name
 * models that are not in these results, since it may serve many charts; one of its names must fit.
 */
import { parseDocument } from "yaml";
import { shortName, shownNames } from "../../bench/results/shown_names.ts";
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { readText, whyUnreadable } from "../../core/text_file.ts";

/** A rename, and where the user gave it. */
export interface Rename {
  from: string;
  to: string;
  place: string;
  /** Whether the rename is from a file, which may also have names of other models. */
  inFile: boolean;
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
  return { from, to, place, inFile: false };
}

/** The models that a name means: the one with this name, or all with this short name. */
function meantBy(name: string, models: readonly string[]): string[] {
  if (models.includes(name)) return [name];
  const short = name.replace(/\/+$/, "");
  return models.filter((model) => shortName(model) === short);
}

/**
 * Reads a JSON or YAML object of names.
 * @throws UsageError when it cannot be read, is something else, or names a model twice
 */
export async function readRenameFile(path: string): Promise<Rename[]> {
  let text: string;
  try {
    text = await readText(path);
  } catch (cause) {
    throw new UsageError(`cannot read the rename file ${path}: ${whyUnreadable(cause)}`, { cause });
  }
  // JSON.parse would silently keep the last of two equal keys.
  const document = parseDocument(text, { uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) {
    const duplicate = error.code === "DUPLICATE_KEY" ? "a model is renamed twice: " : "";
    throw new UsageError(
      `${path}: ${duplicate}${error.message.split("\n")[0]!.replace(/:$/, "")}`,
      { cause: error },
    );
  }
  const names = namesOf(document, path);
  const isMap = typeof names === "object" && names !== null && !Array.isArray(names);
  if (!isMap || Object.values(names).some((to) => typeof to !== "string" || to.trim() === "")) {
    throw new UsageError(`${path}: expected an object of names, {"model": "name in the chart"}`);
  }
  return Object.entries(names).map(([from, to]) => ({
    from,
    to: to.trim(),
    place: path,
    inFile: true,
  }));
}

function namesOf(document: ReturnType<typeof parseDocument>, path: string): unknown {
  try {
    return document.toJS();
  } catch (cause) {
    // A name that begins with * is an alias in YAML.
    throw new UsageError(`${path}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * The new names of the models that are renamed.
 * @returns also a note on names in files that fit none of these results
 * @throws UsageError when a model is renamed twice, two models get one name, or a name is unknown
 */
export function resolveRenames(
  renames: readonly Rename[],
  models: readonly string[],
): { names: Map<string, string>; notes: string[] } {
  const names = new Map<string, string>(), places = new Map<string, string>();
  const unused: Rename[] = [];
  for (const rename of renames) {
    const { to, place, inFile } = rename, meant = meantBy(rename.from, models);
    const [from] = meant;
    if (from === undefined) {
      unused.push(rename);
      if (!inFile) throw unknownModel(rename, models);
      continue;
    }
    if (meant.length > 1) {
      throw new UsageError(`${place}: "${rename.from}" means ${meant.length} models`, {
        advice: `Write one of: ${meant.join(", ")}.`,
      });
    }
    if (places.has(from)) {
      throw new UsageError(
        `${place}: "${from}" is renamed twice, to "${names.get(from)}" (${
          places.get(from)
        }) and to "${to}"`,
      );
    }
    names.set(from, to);
    places.set(from, place);
  }
  if (unused.length > 0 && names.size === 0) throw unknownModel(unused[0]!, models);
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
  const notes = unused.map(({ from, place }) =>
    `${place}: "${from}" is not in these results` +
    didYouMean(from, models.filter((model) => !names.has(model)))
  );
  return { names, notes };
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
  return new UsageError(
    `${place}: no model "${from}" in these results${meant}`,
    {
      advice: `models: ${models.join(", ")}`,
    },
  );
}
