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
import type { TrackedAlert, TrackedPoint, TrackedRun, Tracker } from "./tracker.ts";
import { DatabaseSync } from "node:sqlite";

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

export /** What trackio keeps of a run. */
interface TrackioRecord {
  kind: "metric" | "alert";
  step: number;
  /** ISO 8601. */
  timestamp: string;
  /** A hash of the content: the same whenever the same point or alert is logged again. */
  logId: string;
  /** Of a metric. */
  metrics?: Readonly<Record<string, number>>;
  /** Of an alert. */
  title?: string;
  /** Of an alert. */
  text?: string;
}

export /** The two stores that trackio reads: a database or an inbox. */
interface TrackioStore {
  /** The path of the store, for people. */
  readonly place: string;
  write(record: TrackioRecord): void;
  close(): void;
}

/**
 * trackio's inbox: every record is a file `inbox/{writer}/{number}.jsonl`, which trackio imports
 * and deletes. A file is renamed into place, so trackio never sees a part of one. It skips a record
 * whose id it already has, so a resumed run may log the same steps again.
 */
class TrackioInbox implements TrackioStore {
  readonly place: string;
  #files = 0;
  #configWritten = false;

  constructor(private readonly run: TrackedRun, folder: string) {
    const writer = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    this.place = `${folder}/inbox/${writer}`;
    Deno.mkdirSync(this.place, { recursive: true });
  }

  write(record: TrackioRecord): void {
    const { project, name, id, config } = this.run;
    const { kind, step, timestamp, logId } = record;
    const line = {
      v: 1,
      kind,
      project,
      run: name,
      run_id: id,
      step,
      timestamp,
      ...(kind === "metric"
        ? { metrics: record.metrics, config: this.#configWritten ? null : config, log_id: logId }
        : { title: record.title, text: record.text, level: "WARN", alert_id: logId }),
    };
    const path = `${this.place}/${String(this.#files++).padStart(8, "0")}.jsonl`;
    // trackio removes the folder of a writer whose files it has imported.
    Deno.mkdirSync(this.place, { recursive: true });
    Deno.writeTextFileSync(`${path}.tmp`, JSON.stringify(line) + "\n");
    Deno.renameSync(`${path}.tmp`, path);
    if (kind === "metric") this.#configWritten = true;
  }

  close(): void {}
}

const SCHEMA_VERSION = 2;

const ROW =
  "id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL, " +
  "run_name TEXT NOT NULL";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS metrics
    (${ROW}, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
  CREATE TABLE IF NOT EXISTS system_metrics
    (${ROW}, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
  CREATE TABLE IF NOT EXISTS alerts
    (${ROW}, title TEXT NOT NULL, text TEXT, level TEXT NOT NULL DEFAULT 'warn',
     step INTEGER, alert_id TEXT);
  CREATE TABLE IF NOT EXISTS configs
    (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
     config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
  CREATE TABLE IF NOT EXISTS project_metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS idx_metrics_run_step ON metrics(run_id, step);
  CREATE INDEX IF NOT EXISTS idx_metrics_run_timestamp ON metrics(run_id, timestamp);
  CREATE UNIQUE INDEX IF NOT EXISTS idx_metrics_log_id
    ON metrics(log_id) WHERE log_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS idx_metrics_pending ON metrics(space_id) WHERE space_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS idx_configs_run_name ON configs(run_name);
  CREATE INDEX IF NOT EXISTS idx_system_metrics_run_timestamp
    ON system_metrics(run_id, timestamp);
  CREATE UNIQUE INDEX IF NOT EXISTS idx_system_metrics_log_id
    ON system_metrics(log_id) WHERE log_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS idx_system_metrics_pending
    ON system_metrics(space_id) WHERE space_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS idx_alerts_run ON alerts(run_id);
  CREATE INDEX IF NOT EXISTS idx_alerts_timestamp ON alerts(timestamp);
  CREATE UNIQUE INDEX IF NOT EXISTS idx_alerts_alert_id
    ON alerts(alert_id) WHERE alert_id IS NOT NULL;
`;

/**
 * A project's SQLite database in trackio's format, schema version 2. Only the tables that a run
 * fills are created here. trackio adds its other tables (artifacts, traces) when it opens the file.
 */
class TrackioDatabase implements TrackioStore {
  readonly #database: DatabaseSync;
  #open = true;

  /** @throws Error when the file is no database, has another schema version, or stays locked */
  constructor(private readonly run: TrackedRun, readonly place: string) {
    this.#database = new DatabaseSync(place);
    try {
      this.#begin();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #begin(): void {
    const { id, name, config, start, resumedFrom } = this.run;
    const database = this.#database;
    database.exec(
      "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
    );
    const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
    const tables = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table'").all();
    if (tables.length > 0 && version !== SCHEMA_VERSION) {
      throw new Error(
        `${this.place} has version ${version} of trackio's tables, not ${SCHEMA_VERSION}`,
      );
    }
    database.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
    // An earlier session may have logged steps after the checkpoint that this session resumes from.
    // This session logs these steps again.
    database.prepare("DELETE FROM metrics WHERE run_id = ? AND step > ?").run(id, resumedFrom);
    database.prepare(
      "INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?) " +
        "ON CONFLICT(run_id) DO UPDATE SET run_name = excluded.run_name, config = excluded.config",
    ).run(id, name, JSON.stringify(config), start.toISOString());
  }

  write(record: TrackioRecord): void {
    const { id, name } = this.run, { kind, step, timestamp, logId } = record;
    if (kind === "metric") {
      this.#database.prepare(
        "INSERT OR REPLACE INTO metrics " +
          "(run_id, timestamp, run_name, step, metrics, log_id) VALUES (?, ?, ?, ?, ?, ?)",
      ).run(id, timestamp, name, step, JSON.stringify(record.metrics), logId);
      return;
    }
    this.#database.prepare(
      "INSERT OR REPLACE INTO alerts " +
        "(run_id, timestamp, run_name, title, text, level, step, alert_id) " +
        "VALUES (?, ?, ?, ?, ?, 'warn', ?, ?)",
    ).run(id, timestamp, name, record.title ?? "", record.text ?? null, step, logId);
  }

  close(): void {
    if (this.#open) this.#database.close();
    this.#open = false;
  }
}

/**
 * Whether a folder is on a network file system, according to the mount table. A system without
 * that table (not Linux) counts as having no network folders.
 */
const NETWORK = /^(nfs\d?|cifs|smb\d?|smbfs|afs|9p)$/;
const CLUSTER = /^(lustre|gpfs|beegfs|ceph|glusterfs|pvfs2|orangefs|panfs|wekafs)$/;
const NETWORK_FUSE = /^fuse\.(.*(nfs|sshfs|gluster|ceph|beegfs|s3|gcs|juicefs|hf).*)$/;

export function isOnNetwork(path: string, mounts = readMounts()): boolean {
  const real = Deno.realPathSync(path);
  let found = { point: "", type: "" };
  for (const line of mounts.split("\n")) {
    const [, escaped = "", type = ""] = line.split(" ");
    // The table escapes spaces and some other characters in octal: a space is \040.
    const point = escaped.replaceAll(/\\(\d{3})/g, (_, o) => String.fromCharCode(parseInt(o, 8)));
    const inside = real === point || real.startsWith(point.endsWith("/") ? point : `${point}/`);
    if (point !== "" && inside && point.length >= found.point.length) found = { point, type };
  }
  return [NETWORK, CLUSTER, NETWORK_FUSE].some((types) => types.test(found.type));
}

function readMounts(): string {
  try {
    return Deno.readTextFileSync("/proc/self/mounts");
  } catch {
    return "";
  }
}
