/**
 * Writes an offline run of Weights & Biases: a folder that `wandb sync` uploads; nothing is sent.
 * `run-{id}.wandb` is a log of protobuf records in blocks of 32 KiB, counted from the beginning of
 * the file. A record that does not fit into the rest of its block continues in the next one.
 * Not supported: console output, files and system statistics.
 */
import { crc32, ProtoMessage, writeAll } from "./binary_log.ts";
import type { TrackedAlert, TrackedPoint, TrackedRun, Tracker } from "./tracker.ts";

const BLOCK = 32_768;
/** Length of the header of a piece: u32 checksum, u16 length, u8 kind. */
const HEADER = 7;
const KIND = { full: 1, first: 2, middle: 3, last: 4 };
/** ":W&B", u16 0xBEE1, u8 version 0. */
const FILE_HEADER = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0);
/** Field numbers of W&B's `Record` message. */
const RECORD = { num: 1, history: 2, summary: 3, run: 17, exit: 18, header: 21 };
/** Field number of the value in the messages of history, summary and configuration items. */
const VALUE_JSON = 16;
const MIN_CONSUMER = "0.40.0";

export class WandbTracker implements Tracker {
  readonly name = "wandb";
  readonly place: string;
  readonly #log: RecordLog;
  readonly #start: number;
  readonly #latest = new Map<string, number>();
  #records = 0;
  #open = true;

  /** @throws Deno.errors.* when the folder or the file cannot be created */
  constructor(run: TrackedRun, env: Readonly<Record<string, string>>) {
    const id = env.WANDB_RUN_ID || runId(run.id);
    this.#start = run.start.getTime();
    this.place = createFolder(`${env.WANDB_DIR || run.outputDir}/wandb`, run.start, id);
    this.#log = new RecordLog(`${this.place}/run-${id}.wandb`);
    const version = new ProtoMessage().text(1, "0.21.0").text(2, MIN_CONSUMER);
    this.#record(RECORD.header, new ProtoMessage().message(1, version));
    this.#record(RECORD.run, runRecord(run, id, env));
  }

  log({ step, time, metrics }: TrackedPoint): void {
    const runtime = (time.getTime() - this.#start) / 1000;
    const values = {
      ...metrics,
      _step: step,
      _timestamp: time.getTime() / 1000,
      _runtime: runtime,
    };
    for (const [name, value] of Object.entries(values)) this.#latest.set(name, value);
    const history = items(Object.entries(values)).message(
      2,
      new ProtoMessage().integer(1, step),
    );
    this.#record(RECORD.history, history);
  }

  /** Does nothing: an alert of W&B is a mail that its server sends. */
  alert(_alert: TrackedAlert): void {}

  close(completed: boolean): void {
    if (!this.#open) return;
    this.#open = false;
    this.#record(RECORD.summary, items(this.#latest));
    const runtime = Math.round((Date.now() - this.#start) / 1000);
    this.#record(RECORD.exit, new ProtoMessage().integer(1, completed ? 0 : 1).integer(2, runtime));
    this.#log.close();
  }

  #record(field: number, content: ProtoMessage): void {
    const record = new ProtoMessage().integer(RECORD.num, ++this.#records).message(field, content);
    this.#log.append(record.encode());
  }
}

/** The repeated field 1: one message for each entry, with the key and the value as JSON. */
function items(entries: Iterable<[string, unknown]>): ProtoMessage {
  const message = new ProtoMessage();
  for (const [key, value] of entries) {
    message.message(1, new ProtoMessage().text(1, key).text(VALUE_JSON, JSON.stringify(value)));
  }
  return message;
}

function runRecord(
  run: TrackedRun,
  id: string,
  env: Readonly<Record<string, string>>,
): ProtoMessage {
  const message = new ProtoMessage().text(1, id);
  if (env.WANDB_ENTITY) message.text(2, env.WANDB_ENTITY);
  message.text(3, run.project).message(4, items(Object.entries(run.config)));
  if (env.WANDB_RUN_GROUP) message.text(6, env.WANDB_RUN_GROUP);
  if (env.WANDB_JOB_TYPE) message.text(7, env.WANDB_JOB_TYPE);
  message.text(8, run.name);
  if (env.WANDB_NOTES) message.text(9, env.WANDB_NOTES);
  for (const tag of env.WANDB_TAGS?.split(",") ?? []) if (tag.trim()) message.text(10, tag.trim());
  message.text(13, run.host).integer(14, run.resumedFrom);
  const time = run.start.getTime(), seconds = Math.floor(time / 1000);
  message.message(17, new ProtoMessage().integer(1, seconds).integer(2, time % 1000 * 1e6));
  return message.integer(18, run.resumedFrom > 0 ? 1 : 0);
}

/** Eight characters a–z, 0–9 from the run's id, so that all sessions of a run are one W&B run. */
function runId(id: string): string {
  return BigInt(`0x${id}`).toString(36).slice(-8).padStart(8, "0");
}

/** Creates `offline-run-{date}_{time}-{id}`; the time is moved on until the name is free. */
function createFolder(parent: string, start: Date, id: string): string {
  for (let time = start.getTime();; time += 1000) {
    const [date, clock] = new Date(time).toISOString().slice(0, 19).split("T");
    const stamp = `${date!.replaceAll("-", "")}_${clock!.replaceAll(":", "")}`;
    const path = `${parent}/offline-run-${stamp}-${id}`;
    Deno.mkdirSync(parent, { recursive: true });
    try {
      Deno.mkdirSync(path);
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) continue;
      throw error;
    }
    for (const name of ["files", "logs"]) Deno.mkdirSync(`${path}/${name}`);
    return path;
  }
}

/** The log file, whose records are cut into pieces at the ends of blocks. */
class RecordLog {
  readonly #file: Deno.FsFile;
  #length = 0;

  constructor(path: string) {
    this.#file = Deno.openSync(path, { createNew: true, write: true });
    this.#write(FILE_HEADER);
  }

  append(record: Uint8Array): void {
    for (let begin = 0, first = true;;) {
      const room = BLOCK - this.#length % BLOCK;
      if (room < HEADER) {
        this.#write(new Uint8Array(room));
        continue;
      }
      const end = Math.min(record.length, begin + room - HEADER), last = end === record.length;
      this.#piece(
        first ? last ? KIND.full : KIND.first : last ? KIND.last : KIND.middle,
        record.subarray(begin, end),
      );
      if (last) return;
      begin = end;
      first = false;
    }
  }

  #piece(kind: number, data: Uint8Array): void {
    const piece = new Uint8Array(HEADER + data.length), view = new DataView(piece.buffer);
    view.setUint32(0, crc32(Uint8Array.of(kind), data), true);
    view.setUint16(4, data.length, true);
    piece[6] = kind;
    piece.set(data, HEADER);
    this.#write(piece);
  }

  close(): void {
    this.#file.close();
  }

  #write(bytes: Uint8Array): void {
    writeAll(this.#file, bytes);
    this.#length += bytes.length;
  }
}
