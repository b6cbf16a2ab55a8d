/**
 * Writes metrics for trackio, into the inbox of its folder: $TRACKIO_DIR, else $HF_HOME/trackio,
 * else ~/.cache/huggingface/trackio. Every record is a file `inbox/{writer}/{number}.jsonl`, which
 * trackio's dashboard imports into its database and deletes, also on network file systems. A file
 * is renamed into place, so trackio never sees a part of one. It skips a record whose id it already
 * has, so a resumed run may log the same steps again.
 */
import { homedir } from "node:os";
import { sha256Hex } from "../../core/checksums.ts";
import type { TrackedAlert, TrackedPoint, TrackedRun, Tracker } from "./tracker.ts";

export class TrackioTracker implements Tracker {
  readonly name = "trackio";
  readonly place: string;
  #files = 0;
  /** The configuration, until a record has held it. */
  #config: TrackedRun["config"] | null;

  constructor(private readonly run: TrackedRun, env: Readonly<Record<string, string>>) {
    const writer = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    this.#config = run.config;
    this.place = `${trackioFolder(env)}/inbox/${writer}`;
    Deno.mkdirSync(this.place, { recursive: true });
  }

  log(point: TrackedPoint): void {
    const { metrics } = point, names = Object.keys(metrics);
    if (names.length === 0) return;
    const log_id = this.#id("metric", point.step, names.join());
    this.#write("metric", point, { metrics, config: this.#config, log_id });
    this.#config = null;
  }

  alert(alert: TrackedAlert): void {
    const { title, text } = alert, alert_id = this.#id("alert", alert.step, title, text);
    this.#write("alert", alert, { title, text, level: "WARN", alert_id });
  }

  close(): void {}

  #write(kind: string, { step, time }: TrackedPoint | TrackedAlert, more: object): void {
    const { project, name, id } = this.run;
    const about = { v: 1, kind, project, run: name, run_id: id, step };
    const line = { ...about, timestamp: time.toISOString(), ...more };
    const path = `${this.place}/${String(this.#files++).padStart(8, "0")}.jsonl`;
    // trackio removes the folder of a writer whose files it has imported.
    Deno.mkdirSync(this.place, { recursive: true });
    Deno.writeTextFileSync(`${path}.tmp`, JSON.stringify(line) + "\n");
    Deno.renameSync(`${path}.tmp`, path);
  }

  #id(...parts: readonly (string | number)[]): string {
    return sha256Hex([this.run.id, ...parts].join("\n")).slice(0, 32);
  }
}

function trackioFolder(env: Readonly<Record<string, string>>): string {
  if (env.TRACKIO_DIR) return env.TRACKIO_DIR;
  const cache = env.XDG_CACHE_HOME || `${homedir()}/.cache`;
  return `${env.HF_HOME || `${cache}/huggingface`}/trackio`;
}
