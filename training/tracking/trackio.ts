/**
 * Writes metrics for trackio. Its folder is $TRACKIO_DIR, else $HF_HOME/trackio, else
 * ~/.cache/huggingface/trackio. Normally metrics go into the project's SQLite database, in the
 * format that trackio itself writes. If the folder is on a network file system (SQLite's locks do
 * not work there) or the database cannot be opened, they go into trackio's inbox, from which its
 * dashboard imports them. $TRACKIO_STORAGE_MODE (sqlite, jsonl, auto) means the same as for
 * trackio.
 */
import { homedir } from "node:os";
import { sha256Hex } from "../../core/checksums.ts";
import { isOnNetwork } from "./network_folder.ts";
import type { TrackedAlert, TrackedPoint, TrackedRun, Tracker } from "./tracker.ts";
import { TrackioDatabase } from "./trackio_database.ts";
import { TrackioInbox } from "./trackio_inbox.ts";
import type { TrackioStore } from "./trackio_store.ts";

export class TrackioTracker implements Tracker {
  readonly name = "trackio";
  readonly #store: TrackioStore;

  /** @throws Error when neither the database nor the inbox can be written */
  constructor(private readonly run: TrackedRun, env: Readonly<Record<string, string>>) {
    this.#store = openStore(run, trackioFolder(env), env.TRACKIO_STORAGE_MODE ?? "auto");
  }

  get place(): string {
    return this.#store.place;
  }

  log({ step, time, metrics }: TrackedPoint): void {
    const names = Object.keys(metrics);
    if (names.length === 0) return;
    const logId = this.#id("metric", step, names.join());
    this.#store.write({ kind: "metric", step, timestamp: time.toISOString(), logId, metrics });
  }

  alert({ step, time, title, text }: TrackedAlert): void {
    const logId = this.#id("alert", step, title, text);
    this.#store.write({ kind: "alert", step, timestamp: time.toISOString(), logId, title, text });
  }

  close(): void {
    this.#store.close();
  }

  #id(...parts: readonly (string | number)[]): string {
    return sha256Hex([this.run.id, ...parts].join("\n")).slice(0, 32);
  }
}

export function trackioFolder(env: Readonly<Record<string, string>>): string {
  if (env.TRACKIO_DIR) return env.TRACKIO_DIR;
  const cache = env.XDG_CACHE_HOME || `${homedir()}/.cache`;
  return `${env.HF_HOME || `${cache}/huggingface`}/trackio`;
}

/** The name under which trackio keeps a project's files. */
export function projectFile(project: string): string {
  return project.replaceAll(/[^\p{L}\p{N}_-]/gu, "") || "default";
}

function openStore(run: TrackedRun, folder: string, mode: string): TrackioStore {
  Deno.mkdirSync(folder, { recursive: true });
  if (mode === "jsonl" || (mode !== "sqlite" && isOnNetwork(folder))) {
    return new TrackioInbox(run, folder);
  }
  try {
    return new TrackioDatabase(run, `${folder}/${projectFile(run.project)}.db`);
  } catch (error) {
    if (mode === "sqlite") throw error;
    return new TrackioInbox(run, folder);
  }
}
