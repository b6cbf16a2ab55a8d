/**
 * A pull in offline mode. All files that it would fetch must be in the cache; missing ones are
 * named in the error. The files of a repository are known from the list that huggingface_hub may
 * have stored (`trees/{commit}.json`), and from the index of sharded weights.
 */
import { RgxError } from "../core/errors.ts";
import { readIfThere } from "../core/text_file.ts";
import { fileSize, filesOf, findSnapshot, RepositoryCache } from "./cache.ts";
import { type Selection, wantedFiles } from "./choose_files.ts";
import { isDataFile, isTable, README } from "./default_files.ts";
import { matcher } from "./file_patterns.ts";
import { withoutNetwork } from "./refusal.ts";
import type { Pulled } from "./pulled.ts";
import { pullCommand, type Repository } from "./repository.ts";
import type { HubSettings } from "./settings.ts";

/** @throws RgxError that names what is missing */
export async function pullOffline(
  repository: Repository,
  revision: string | null,
  selection: Selection,
  settings: HubSettings,
): Promise<Omit<Pulled, "downloaded_bytes" | "seconds" | "offline">> {
  const wanted = revision ?? "main", { cache, offline } = settings;
  const command = [pullCommand(repository, revision), ...selection.files].join(" ");
  const fail = (what: string) =>
    new RgxError(`${repository.name}: ${offline} is set, and ${what}`, {
      advice: `With a network: ${offline}=0 ${command}. ` +
        withoutNetwork({ settings, repository, revision: wanted }),
    });
  const snapshot = await findSnapshot(cache, repository, revision);
  if (snapshot === null) {
    throw fail(`revision ${wanted} of it is not in the cache ${cache}`);
  }
  const { commit, path } = snapshot, present = await filesOf(path);
  const missing = await missingFiles(repository, selection, path, present, await listed(commit));
  if (missing.length > 0) {
    throw fail(
      `${missing.length === 1 ? "a file is" : "files are"} not in the cache: ${
        missing.slice(0, 8).join(", ")
      }${missing.length > 8 ? ` and ${missing.length - 8} more` : ""} (looked in ${path})`,
    );
  }
  const files = [];
  for (const name of wantedFiles(present, repository.kind, selection)) {
    const file = `${path}/${name}`;
    files.push({ name, path: file, size: await fileSize(file), cached: true });
  }
  return {
    repository: repository.name,
    kind: repository.kind,
    revision: wanted,
    commit,
    path,
    files,
    bytes: files.reduce((sum, { size }) => sum + (size ?? 0), 0),
  };

  async function listed(commit: string): Promise<string[] | null> {
    const { folder } = new RepositoryCache(cache, repository);
    const text = await readIfThere(`${folder}/trees/${commit}.json`);
    const files = (text === null ? null : parse(text))?.["files"];
    return typeof files === "object" && files !== null ? Object.keys(files) : null;
  }
}

/** Names of the files that a pull would fetch and that the snapshot does not have. */
async function missingFiles(
  repository: Repository,
  selection: Selection,
  snapshot: string,
  present: readonly string[],
  listed: readonly string[] | null,
): Promise<string[]> {
  const there = new Set(present), asked = [...selection.files, ...selection.include];
  const names = [...new Set([...present, ...listed ?? [], ...await shardsOf(snapshot, present)])];
  // A data set that was fetched before has no README: its files say the splits then.
  const isOptional = (name: string) =>
    name === README && repository.kind === "dataset" && !asked.includes(README);
  const missing = wantedFiles(names, repository.kind, selection).filter((name) =>
    !there.has(name) && !isOptional(name)
  );
  if (missing.length > 0) return missing;
  if (asked.length > 0) return asked.filter((pattern) => !names.some(matcher(pattern)));
  if (selection.exclude.length > 0) return [];
  const isThere = (test: (name: string) => boolean) => present.some(test);
  if (repository.kind === "dataset") {
    return isThere((name) => isDataFile(name) || isTable(name))
      ? []
      : ["*.parquet, *.jsonl or *.csv"];
  }
  if (isThere((name) => name.endsWith(".gguf"))) return [];
  return [
    ...there.has("config.json") || there.has("adapter_config.json") ? [] : ["config.json"],
    ...isThere((name) => !name.includes("/") && name.endsWith(".safetensors"))
      ? []
      : ["model.safetensors"],
  ];
}

/** The files that are named in the indices of sharded weights. */
async function shardsOf(snapshot: string, present: readonly string[]): Promise<string[]> {
  const shards = new Set<string>();
  for (const name of present.filter((name) => name.endsWith(".safetensors.index.json"))) {
    const folder = name.slice(0, name.lastIndexOf("/") + 1);
    const map = parse(await Deno.readTextFile(`${snapshot}/${name}`))?.["weight_map"];
    if (typeof map !== "object" || map === null) continue;
    for (const file of Object.values(map)) {
      if (typeof file === "string") shards.add(folder + file);
    }
  }
  return [...shards];
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}
