/**
 * Finds one configuration of a data set, as `datasets.load_dataset(NAME, CONFIGURATION)` names it.
 * The README may list it, or it is (by the conventions of the Hub) a folder of that name, in the
 * top folder or in `data/`.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { filesOf, findSnapshot } from "./cache.ts";
import { isReadable } from "./default_files.ts";
import { readConfigurations } from "./readme_configs.ts";
import { parseNamed } from "./repository.ts";
import { type Environment, hubCache } from "./settings.ts";

/** The name of the configuration of a data set without others. */
const DEFAULT = "default";

/**
 * The name of a data set with its configuration in it: `gsm8k-copy/main`, or
 * `hf://datasets/openai/gsm8k/main`. The configuration `default` is the whole data set, where no
 * folder has that name.
 * @param name a folder, or a data set on the Hub, which need not be here yet
 * @throws UsageError when there is no such configuration, or the name can have none
 */
export async function withConfiguration(
  name: string,
  configuration: string,
  env: Environment = (key) => Deno.env.get(key),
): Promise<string> {
  const folder = name.replace(/(?<=.)\/+$/, "");
  const found = await Deno.stat(folder).catch(() => null);
  if (found?.isDirectory) {
    const place = await placeIn(folder, configuration, folder);
    return place === null ? name : `${folder}/${place}`;
  }
  const named = found === null ? parseNamed(name, "dataset") : null;
  if (named === null || named.repository.kind !== "dataset") {
    throw new UsageError(`${configuration}: ${name} has no configurations`, {
      advice: "A folder has them, or a data set of the Hub: leave the key out.",
    });
  }
  const { repository, revision, path } = named;
  if (path !== null) {
    if (path.split("/").at(-1) === configuration) return name;
    throw new UsageError(`${configuration}: ${name} names ${path} already`, {
      advice: `Write hf://datasets/${repository.name}, or leave the key out.`,
    });
  }
  const address = `hf://datasets/${repository.name}${revision === null ? "" : `@${revision}`}`;
  const cache = hubCache(env);
  const snapshot = cache === null ? null : await findSnapshot(cache, repository, revision);
  const place = snapshot === null
    ? configuration === DEFAULT ? null : configuration
    : await placeIn(snapshot.path, configuration, address);
  return place === null ? name : `${address}/${place}`;
}

/**
 * A configuration as `findDataFiles` finds it in the data set's folder: by its name, or its folder.
 * Null where the whole data set is meant.
 */
async function placeIn(
  path: string,
  configuration: string,
  label: string,
): Promise<string | null> {
  const listed = (await readConfigurations(path)).map(({ name }) => name);
  if (listed.includes(configuration)) return configuration;
  const data = (await filesOf(path)).filter(isReadable);
  const places = [configuration, `data/${configuration}`];
  const place = places.find((folder) => data.some((file) => file.startsWith(`${folder}/`)));
  if (place !== undefined) return place;
  if (configuration === DEFAULT && listed.length === 0) return null;
  const folders = new Set(data.flatMap((file) => file.split("/").slice(0, -1)));
  const names = listed.length > 0 ? listed : [...folders].sort();
  const near = didYouMean(configuration, names);
  const there = names.length === 0 ? "it has no folders" : `its folders: ${names.join(", ")}`;
  const what = listed.length > 0
    ? `Its README lists ${listed.join(", ")}`
    : `A configuration is a folder with data files (${there})`;
  throw new UsageError(`${configuration}: no such configuration of ${label}`, {
    advice: `${what}${near === "" ? "." : near}`,
  });
}
