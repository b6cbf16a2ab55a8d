/**
 * A project's SQLite database in trackio's format, schema version 2. Only the tables that a run
 * fills are created here. trackio adds its other tables (artifacts, traces) when it opens the file.
 */
import { DatabaseSync } from "node:sqlite";
import type { TrackedRun } from "./tracker.ts";
import type { TrackioRecord, TrackioStore } from "./trackio_store.ts";

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

export class TrackioDatabase implements TrackioStore {
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
