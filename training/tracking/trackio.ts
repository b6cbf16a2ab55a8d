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

/** The two stores that trackio reads: a database or an inbox. */
interface Store {
  readonly place: string;
  /** @param id the same whenever the same point is logged again */
  log(point: TrackedPoint, id: string): void;
  alert(alert: TrackedAlert, id: string): void;
  close(): void;
}

export class TrackioTracker implements Tracker {
  readonly name = "trackio";
  readonly #store: Store;

  /** @throws Error when neither the database nor the inbox can be written */
  constructor(private readonly run: TrackedRun, env: Readonly<Record<string, string>>) {
    this.#store = openStore(run, trackioFolder(env), env.TRACKIO_STORAGE_MODE ?? "auto");
  }

  get place(): string {
    return this.#store.place;
  }

  log(point: TrackedPoint): void {
    const names = Object.keys(point.metrics);
    if (names.length > 0) this.#store.log(point, this.#id("metric", point.step, names.join()));
  }

  alert(alert: TrackedAlert): void {
    this.#store.alert(alert, this.#id("alert", alert.step, alert.title, alert.text));
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

export function projectFile(project: string): string {
  return project.replaceAll(/[^\p{L}\p{N}_-]/gu, "") || "default";
}

function openStore(run: TrackedRun, folder: string, mode: string): Store {
  Deno.mkdirSync(folder, { recursive: true });
  if (mode === "jsonl" || (mode !== "sqlite" && isOnNetwork(folder))) {
    return openInbox(run, folder);
  }
  try {
    return openDatabase(run, `${folder}/${projectFile(run.project)}.db`);
  } catch (error) {
    if (mode === "sqlite") throw error;
    return openInbox(run, folder);
  }
}

/**
 * trackio's inbox: every record is a file `inbox/{writer}/{number}.jsonl`, which trackio imports
 * and deletes. A file is renamed into place, so trackio never sees a part of one. It skips a record
 * whose id it already has, so a resumed run may log the same steps again.
 */
function openInbox({ project, name, id, config }: TrackedRun, folder: string): Store {
  const writer = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
  const place = `${folder}/inbox/${writer}`;
  let files = 0, newConfig: TrackedRun["config"] | null = config;
  const write = (
    kind: "metric" | "alert",
    { step, time }: TrackedPoint | TrackedAlert,
    more: object,
  ) => {
    const about = { v: 1, kind, project, run: name, run_id: id, step };
    const line = { ...about, timestamp: time.toISOString(), ...more };
    const path = `${place}/${String(files++).padStart(8, "0")}.jsonl`;
    // trackio removes the folder of a writer whose files it has imported.
    Deno.mkdirSync(place, { recursive: true });
    Deno.writeTextFileSync(`${path}.tmp`, JSON.stringify(line) + "\n");
    Deno.renameSync(`${path}.tmp`, path);
  };
  Deno.mkdirSync(place, { recursive: true });
  return {
    place,
    log(point, logId) {
      write("metric", point, { metrics: point.metrics, config: newConfig, log_id: logId });
      newConfig = null;
    },
    alert(alert, alertId) {
      const { title, text } = alert;
      write("alert", alert, { title, text, level: "WARN", alert_id: alertId });
    },
    close() {},
  };
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
 * @throws Error when the file is no database, has another schema version, or stays locked
 */
function openDatabase(run: TrackedRun, place: string): Store {
  const { id, name } = run, database = new DatabaseSync(place);
  try {
    begin(database, run, place);
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    place,
    log({ step, time, metrics }, logId) {
      database.prepare(
        "INSERT OR REPLACE INTO metrics " +
          "(run_id, timestamp, run_name, step, metrics, log_id) VALUES (?, ?, ?, ?, ?, ?)",
      ).run(id, time.toISOString(), name, step, JSON.stringify(metrics), logId);
    },
    alert({ step, time, title, text }, alertId) {
      database.prepare(
        "INSERT OR REPLACE INTO alerts " +
          "(run_id, timestamp, run_name, title, text, level, step, alert_id) " +
          "VALUES (?, ?, ?, ?, ?, 'warn', ?, ?)",
      ).run(id, time.toISOString(), name, title, text, step, alertId);
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}

function begin(database: DatabaseSync, run: TrackedRun, place: string): void {
  const { id, name, config, start, resumedFrom } = run;
  database.exec(
    "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
  );
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  const tables = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table'").all();
  if (tables.length > 0 && version !== SCHEMA_VERSION) {
    throw new Error(`${place} has version ${version} of trackio's tables, not ${SCHEMA_VERSION}`);
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
