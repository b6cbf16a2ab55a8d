/**
 * trackio's inbox: every record is a file `inbox/{writer}/{number}.jsonl`, which trackio imports
 * and deletes. A file is renamed into place, so trackio never sees a part of one. It skips a record
 * whose id it already has, so a resumed run may log the same steps again.
 */
import type { TrackedRun } from "./tracker.ts";
import type { TrackioRecord, TrackioStore } from "./trackio_store.ts";

export class TrackioInbox implements TrackioStore {
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
