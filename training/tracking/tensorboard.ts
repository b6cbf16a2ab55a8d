/**
 * Writes TensorBoard's event files, `{output_dir}/runs/{run}/events.out.tfevents.…`, one for each
 * session. A frame is u64 length, u32 masked CRC-32C of the length, the event (a protobuf message),
 * u32 masked CRC-32C of the event. A session that resumes records its first step, and TensorBoard
 * then drops this and later steps of earlier files. Not supported: images, histograms, graphs.
 */
import { crc32c, ProtoMessage, writeAll } from "./binary_log.ts";
import type { TrackedAlert, TrackedPoint, TrackedRun, Tracker } from "./tracker.ts";

/** Field numbers of TensorFlow's `Event` and `Summary.Value` messages. */
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 };
const VALUE = { tag: 1, simpleValue: 2, tensor: 8, metadata: 9 };
const SESSION_START = 1;
const DT_STRING = 7;

export class TensorboardTracker implements Tracker {
  readonly name = "tensorboard";
  readonly place: string;
  #file: Deno.FsFile | null;

  /** @throws Deno.errors.* when the folder or the file cannot be created */
  constructor(run: TrackedRun) {
    const { outputDir, name, host, pid, start } = run;
    this.place = `${outputDir}/runs/${folderName(name)}`;
    Deno.mkdirSync(this.place, { recursive: true });
    this.#file = createFile(
      `${this.place}/events.out.tfevents.${Math.floor(start.getTime() / 1000)}.${host}.${pid}`,
    );
    this.#write(start, 0, (event) => event.text(EVENT.fileVersion, "brain.Event:2"));
    if (run.resumedFrom > 0) {
      const session = new ProtoMessage().integer(1, SESSION_START);
      this.#write(start, run.resumedFrom + 1, (event) => event.message(EVENT.sessionLog, session));
    }
    this.#summary(start, 0, [textValue("config", jsonBlock(run.config))]);
  }

  log({ step, time, metrics }: TrackedPoint): void {
    const values = Object.entries(metrics).map(([tag, value]) =>
      new ProtoMessage().text(VALUE.tag, tag).float(VALUE.simpleValue, value)
    );
    if (values.length > 0) this.#summary(time, step, values);
  }

  alert({ step, time, title, text }: TrackedAlert): void {
    this.#summary(time, step, [textValue(`alerts/${title}`, text)]);
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }

  #summary(time: Date, step: number, values: readonly ProtoMessage[]): void {
    const summary = new ProtoMessage();
    for (const value of values) summary.message(1, value);
    this.#write(time, step, (event) => event.message(EVENT.summary, summary));
  }

  #write(time: Date, step: number, fill: (event: ProtoMessage) => ProtoMessage): void {
    const event = new ProtoMessage().double(EVENT.wallTime, time.getTime() / 1000);
    if (step !== 0) event.integer(EVENT.step, step);
    writeAll(this.#file!, frame(fill(event).encode()));
  }
}

export function frame(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(data.length + 16), view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, masked(crc32c(bytes.subarray(0, 8))), true);
  bytes.set(data, 12);
  view.setUint32(12 + data.length, masked(crc32c(data)), true);
  return bytes;
}

/**
 * TensorFlow's masked checksum: rotated, plus a constant. The checksum of data that contains its
 * own checksum would be weak.
 */
export function masked(crc: number): number {
  return ((crc >>> 15 | crc << 17) + 0xa282ead8) >>> 0;
}

function textValue(tag: string, text: string): ProtoMessage {
  const shape = new ProtoMessage().message(2, new ProtoMessage().integer(1, 1));
  const tensor = new ProtoMessage().integer(1, DT_STRING).message(2, shape).text(8, text);
  const metadata = new ProtoMessage().message(1, new ProtoMessage().text(1, "text"));
  return new ProtoMessage().text(VALUE.tag, tag).message(VALUE.tensor, tensor)
    .message(VALUE.metadata, metadata);
}

/** JSON as a code block: TensorBoard shows text as Markdown. */
function jsonBlock(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/^/gm, "    ");
}

function folderName(name: string): string {
  const plain = name.replaceAll(/[/\\\0]/g, "_");
  return plain === "." || plain === ".." ? "run" : plain;
}

/** Creates `{stem}.0`, or the next free number when two sessions start within one second. */
function createFile(stem: string): Deno.FsFile {
  for (let n = 0;; n++) {
    try {
      return Deno.openSync(`${stem}.${n}`, { createNew: true, write: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}
