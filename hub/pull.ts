/**
 * Fetches a repository's files into the cache. Existing files are not fetched again, and
 * interrupted downloads are continued. A file appears in the snapshot only when it is complete, and
 * `refs/{branch}` names the new commit only when all files are there. In offline mode the cache is
 * checked, and an error names the missing files.
 */
import { bytesText } from "../core/bytes.ts";
import { RgxError } from "../core/errors.ts";
import { jsonObjectOrNull } from "../core/json_file.ts";
import { type ListedFile, listFiles, type RemoteFile, remoteFile } from "./api.ts";
import { fileSize, filesOf, findSnapshot, RepositoryCache, type Snapshot } from "./cache.ts";
import {
  chooseFiles,
  EVERYTHING_NEEDED,
  isDataFile,
  isTable,
  README,
  type Selection,
  wantedFiles,
} from "./choose_files.ts";
import { freeBytes } from "../core/machine/disk_space.ts";
import {
  bytesKept,
  type ByteWriter,
  downloadBlob,
  hasBlob,
  isRight,
  putAside,
} from "./download.ts";
import { HubHttp, interruption } from "./http.ts";
import { pullCommand, type Repository, type RepositoryKind } from "./repository.ts";
import { type HubSettings, hubSettings } from "./settings.ts";
import { readIfThere } from "../core/text_file.ts";
import { matcher } from "./file_patterns.ts";
import { withoutNetwork } from "./refusal.ts";

/** What is pulled, from where, and the callbacks. */
export interface PullOptions {
  /** Branch, tag or commit; default main. */
  revision?: string | null;
  /** Default: the files of a model that rgx needs, or the data files of a data set. */
  selection?: Selection;
  /**
   * Default: read from the environment.
   * @internal
   */
  settings?: HubSettings;
  /** Maximum number of parallel downloads; default 4. */
  maxWorkers?: number;
  /** Also check the checksums of files that exist already, and fetch damaged ones again. */
  verify?: boolean;
  /** Only report the files that would be fetched. */
  dryRun?: boolean;
  /**
   * Called before the weights of a model are fetched, unless files are named or left out; it throws
   * to refuse the model.
   * @param config the contents of its config.json
   * @param bytes size of the weights
   * @internal
   */
  accept?: (config: Readonly<Record<string, unknown>>, bytes: number) => void;
  /** Aborts the pull; downloaded bytes are kept. */
  signal?: AbortSignal;
  /** Called with what is found, and with the progress. */
  onEvent?: (event: PullEvent) => void;
  /** As in HttpOptions. */
  attempts?: number;
  /** As in HttpOptions. */
  firstDelay?: number;
  /** @internal */
  write?: ByteWriter;
  /** Free bytes of the file system of a folder, null = not known; for tests. */
  freeBytes?: (folder: string) => Promise<number | null>;
}

/** What a pull reports while it works. */
export type PullEvent =
  /** The work to do, in files and in bytes. */
  | { type: "plan"; files: number; cached: number; bytes: number; present: number }
  /** How many of all bytes are present now. */
  | { type: "progress"; present: number; bytes: number }
  | { type: "file"; name: string; done: number; files: number }
  | { type: "notice"; message: string };

/** Maximum number of parallel requests for metadata. */
const MAX_METADATA_REQUESTS = 8;
/** Bytes that a pull leaves free on the disk. */
const RESERVED_BYTES = 1 << 20;

/**
 * Downloads a model or a data set from the Hub into the cache that it shares with Python.
 * @throws UsageError or RgxError that says what to do, for example when the repository does not
 *   exist or is gated, the connection breaks too often, a checksum is wrong, the disk is full, or a
 *   file is missing offline; Interrupted when the signal aborts
 */
export async function pull(repository: Repository, options: PullOptions = {}): Promise<Pulled> {
  const settings = options.settings ?? await hubSettings();
  const revision = options.revision ?? "main", selection = options.selection ?? EVERYTHING_NEEDED;
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 10) / 100;
  if (settings.offline !== null) {
    const found = await pullOffline(repository, options.revision ?? null, selection, settings);
    return { ...found, downloaded_bytes: 0, seconds: seconds(), offline: true };
  }
  const control = new AbortController(), stop = () => control.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", stop);
  const notice = (message: string) => options.onEvent?.({ type: "notice", message });
  const connection = { ...options, signal: control.signal, onNotice: notice };
  const http = new HubHttp(settings, repository, revision, connection);
  try {
    if (options.signal?.aborted) throw interruption(options.signal);
    const work = new Pull(http, selection, options, control, notice);
    return { ...await work.run(), seconds: seconds(), offline: false };
  } finally {
    options.signal?.removeEventListener("abort", stop);
    http.close();
  }
}

class Pull {
  readonly #place: RepositoryCache;
  #bytes = 0;
  #present = 0;
  #downloaded = 0;

  constructor(
    readonly http: HubHttp,
    readonly selection: Selection,
    readonly options: PullOptions,
    readonly control: AbortController,
    readonly notice: (message: string) => void,
  ) {
    this.#place = new RepositoryCache(http.settings.cache, http.repository);
  }

  async run(): Promise<Omit<Pulled, "seconds" | "offline">> {
    const { commit, files } = await listFiles(this.http);
    const chosen = chooseFiles(files, this.http.repository, this.selection);
    const ask = (file: ListedFile) => remoteFile(this.http, commit, file);
    const remote = await this.#pooled(chosen, MAX_METADATA_REQUESTS, ask);
    const placed = new Set<RemoteFile>();
    for (const file of remote) if (await this.#isPlaced(commit, file)) placed.add(file);
    await this.#plan(remote, placed);
    const done = { count: placed.size };
    if (!this.options.dryRun) {
      if (placed.size < remote.length) await this.#place.prepare();
      await this.#askForModel(commit, remote, placed);
      const groups = Map.groupBy(remote.filter((file) => !placed.has(file)), ({ etag }) => etag);
      await this.#pooled([...groups.values()], this.options.maxWorkers ?? 4, async (same) => {
        await this.#fetch(same[0]!);
        for (const { name, etag } of same) {
          await this.#place.place(commit, name, etag, this.http.settings.symlinks);
          done.count++;
          this.options.onEvent?.({
            type: "file",
            name,
            done: done.count,
            files: remote.length,
          });
        }
      });
      await this.#place.writeRef(this.http.revision, commit);
    }
    return await this.#result(commit, remote, placed);
  }

  /** Lets the caller see a model's config.json before its weights are fetched. */
  async #askForModel(
    commit: string,
    remote: readonly RemoteFile[],
    placed: ReadonlySet<RemoteFile>,
  ): Promise<void> {
    const { files, include, exclude } = this.selection, { accept } = this.options;
    const config = remote.find(({ name }) => name === "config.json");
    const weights = remote.filter(({ name }) => name.endsWith(".safetensors"));
    const isUsual = files.length + include.length + exclude.length === 0;
    if (accept === undefined || config === undefined || !isUsual) return;
    if (weights.every((file) => placed.has(file))) return;
    if (!placed.has(config)) {
      await this.#fetch(config);
      await this.#place.place(commit, config.name, config.etag, this.http.settings.symlinks);
    }
    const path = `${this.#place.snapshot(commit)}/${config.name}`;
    const json = jsonObjectOrNull(await Deno.readTextFile(path));
    if (json !== null) accept(json, weights.reduce((sum, { size }) => sum + (size ?? 0), 0));
  }

  async #fetch(file: RemoteFile): Promise<void> {
    await downloadBlob(file, {
      ...this.options,
      http: this.http,
      place: this.#place,
      signal: this.control.signal,
      onNotice: this.notice,
      onBytes: (count) => {
        this.#present += count;
        if (count > 0) this.#downloaded += count;
        this.options.onEvent?.({ type: "progress", present: this.#present, bytes: this.#bytes });
      },
    });
  }

  async #isPlaced(commit: string, file: RemoteFile): Promise<boolean> {
    const size = await this.#place.sizeOf(commit, file.name);
    if (size === null || file.size !== null && size !== file.size) return false;
    const path = `${this.#place.snapshot(commit)}/${file.name}`;
    if (!this.options.verify || await isRight(path, file)) return true;
    this.notice(`${file.name}: it is damaged (its checksum is wrong) and is fetched again`);
    if (!this.options.dryRun) await putAside(this.#place, file);
    return false;
  }

  /** Counts the missing bytes, and throws if they do not fit on the disk. */
  async #plan(remote: readonly RemoteFile[], placed: ReadonlySet<RemoteFile>): Promise<void> {
    let missing = 0;
    const blobs = new Set<string>();
    for (const file of remote) {
      const size = file.size ?? 0, isKnown = placed.has(file) || blobs.has(file.etag);
      blobs.add(file.etag);
      const isThere = isKnown || await hasBlob(this.#place, file);
      const present = isThere ? size : await bytesKept(this.#place, file);
      this.#bytes += size;
      this.#present += present;
      missing += Math.max(0, size - present);
    }
    this.options.onEvent?.({
      type: "plan",
      files: remote.length,
      cached: placed.size,
      bytes: this.#bytes,
      present: this.#present,
    });
    const { cache } = this.http.settings;
    const free = missing === 0 ? null : await (this.options.freeBytes ?? freeBytes)(cache);
    if (free !== null && missing + RESERVED_BYTES > free) {
      throw new RgxError(
        `${this.http.repository.name}: ${
          bytesText(missing)
        } are to be downloaded, and ${cache} has ` +
          `${bytesText(free)} free; nothing was downloaded`,
        {
          advice: "Free some space, fetch fewer files (--include, --exclude), or name a cache on " +
            "another disk with HF_HUB_CACHE or HF_HOME.",
        },
      );
    }
  }

  async #result(
    commit: string,
    remote: readonly RemoteFile[],
    placed: ReadonlySet<RemoteFile>,
  ): Promise<Omit<Pulled, "seconds" | "offline">> {
    const path = this.#place.snapshot(commit);
    const files: PulledFile[] = [];
    for (const file of remote) {
      const size = await this.#place.sizeOf(commit, file.name) ?? file.size;
      files.push({
        name: file.name,
        path: `${path}/${file.name}`,
        size,
        cached: placed.has(file),
      });
    }
    return {
      ...resultOf(this.http.repository, this.http.revision, { commit, path }, files),
      downloaded_bytes: this.#downloaded,
    };
  }

  /** Runs `work` for every item, at most `limit` at a time; the first failure aborts the others. */
  async #pooled<T, R>(
    items: readonly T[],
    limit: number,
    work: (item: T) => Promise<R>,
  ): Promise<R[]> {
    const results = new Array<R>(items.length);
    let next = 0, failure: { error: unknown } | null = null;
    const worker = async () => {
      while (next < items.length && failure === null) {
        const index = next++;
        try {
          results[index] = await work(items[index]!);
        } catch (error) {
          failure ??= { error };
          this.control.abort();
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
    const failed = failure as { error: unknown } | null;
    if (failed !== null) throw failed.error;
    return results;
  }
}

function resultOf(
  { name: repository, kind }: Repository,
  revision: string,
  { commit, path }: Snapshot,
  files: PulledFile[],
) {
  const bytes = files.reduce((sum, { size }) => sum + (size ?? 0), 0);
  return { repository, kind, revision, commit, path, files, bytes };
}

// A pull in offline mode. All files that it would fetch must be in the cache; missing ones are
// named in the error. The files of a repository are known from the list that huggingface_hub may
// have stored (`trees/{commit}.json`), and from the index of sharded weights.

/** @throws RgxError that names the missing files */
async function pullOffline(
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
        withoutNetwork({ settings, repository }),
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
  return resultOf(repository, wanted, snapshot, files);

  async function listed(commit: string): Promise<string[] | null> {
    const { folder } = new RepositoryCache(cache, repository);
    const text = await readIfThere(`${folder}/trees/${commit}.json`);
    const files = (text === null ? null : jsonObjectOrNull(text))?.["files"];
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
  // A data set that an older version fetched has no README: the splits are then in the names of its
  // files.
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
    const map = jsonObjectOrNull(await Deno.readTextFile(`${snapshot}/${name}`))?.["weight_map"];
    if (typeof map !== "object" || map === null) continue;
    for (const file of Object.values(map)) {
      if (typeof file === "string") shards.add(folder + file);
    }
  }
  return [...shards];
}

/** A file in the cache. */
export interface PulledFile {
  /** Its path in the repository. */
  name: string;
  /** Path of the file on this machine. */
  path: string;
  /** In bytes; null = the server does not report it, and the file was not fetched. */
  size: number | null;
  /** Whether the file was in the snapshot before the pull. */
  cached: boolean;
}

/** What a pull found and fetched. */
export interface Pulled {
  /** `org/name`. */
  repository: string;
  /** What the repository holds. */
  kind: RepositoryKind;
  /** The branch, tag or commit that was asked for. */
  revision: string;
  /** The commit that the revision names. */
  commit: string;
  /** Folder of the snapshot. */
  path: string;
  /** The files that were chosen. */
  files: PulledFile[];
  /** Total size of all files. */
  bytes: number;
  /** Bytes that came over the network. */
  downloaded_bytes: number;
  /** How long it took. */
  seconds: number;
  /** Whether only the cache was read, because connections are forbidden. */
  offline: boolean;
}
