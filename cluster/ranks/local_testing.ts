/**
 * For tests: ranks within one process, which take turns in its event loop, with the same interface
 * as MPI.
 */
import { RgxError } from "../../core/errors.ts";
import { type Alarm, type Blocks, partOf, type Transport } from "./transport.ts";

/** How often a waiting rank asks whether the others can still come, in milliseconds. */
const ALARM_MS = 20;

const NONE: Alarm = () => {};

/** What one rank brings to a collective call: bytes for every rank. */
type Parts = readonly Uint8Array[];

/** A collective call that not all ranks have joined yet. */
interface Meeting {
  name: string;
  parts: (Parts | null)[];
  done: PromiseWithResolvers<void>;
}

class Room {
  #meetings: Meeting[] = [];
  readonly #calls: number[];
  aborted: RgxError | null = null;

  constructor(readonly size: number) {
    this.#calls = Array<number>(size).fill(0);
  }

  /** Joins the next meeting of this rank, and returns what each rank brought for it. */
  async meet(
    rank: number,
    name: string,
    parts: Parts,
    alarm: Alarm,
  ): Promise<Uint8Array<ArrayBuffer>[]> {
    const number = this.#calls[rank]!++;
    const meeting = this.#meetings[number] ??= {
      name,
      parts: Array<Parts | null>(this.size).fill(null),
      done: Promise.withResolvers<void>(),
    };
    if (meeting.name !== name) {
      throw new RgxError(`rank ${rank} calls ${name} where another one calls ${meeting.name}`);
    }
    meeting.parts[rank] = parts;
    if (meeting.parts.every((part) => part !== null)) meeting.done.resolve();
    await this.#waitFor(meeting.done.promise, alarm);
    // Copies, as MPI makes them: ranks may change what they sent.
    return meeting.parts.map((brought) => brought![rank]!.slice());
  }

  async #waitFor(done: Promise<void>, alarm: Alarm): Promise<void> {
    let over = false;
    const ended = done.then(() => over = true);
    while (!over) {
      if (this.aborted !== null) throw this.aborted;
      alarm();
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ALARM_MS);
      await Promise.race([ended, promise]);
      clearTimeout(timer);
    }
  }
}

class LocalTransport implements Transport {
  readonly label = "ranks within one process";

  constructor(private readonly room: Room, readonly rank: number) {}

  get size(): number {
    return this.room.size;
  }

  allGather(bytes: Uint8Array, alarm: Alarm): Promise<Uint8Array<ArrayBuffer>[]> {
    const parts = Array<Uint8Array>(this.size).fill(bytes);
    return this.room.meet(this.rank, "allGather", parts, alarm);
  }

  async gatherParts(parts: Blocks, alarm: Alarm | null): Promise<void> {
    const own = Array<Uint8Array>(this.size).fill(partOf(parts, this.rank));
    this.#fill(parts, await this.room.meet(this.rank, "gatherParts", own, alarm ?? NONE));
  }

  async exchange(send: Blocks, receive: Blocks, alarm: Alarm | null): Promise<void> {
    const parts = Array.from({ length: this.size }, (_, to) => partOf(send, to));
    this.#fill(receive, await this.room.meet(this.rank, "exchange", parts, alarm ?? NONE));
  }

  #fill(parts: Blocks, found: readonly Uint8Array[]): void {
    for (const [rank, bytes] of found.entries()) {
      const { length } = partOf(parts, rank);
      if (bytes.length !== length) {
        throw new RgxError(`rank ${rank} sent ${bytes.length} bytes, expected ${length}`);
      }
      partOf(parts, rank).set(bytes);
    }
  }

  async allReduce(values: Float32Array | Float64Array, alarm: Alarm): Promise<void> {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const all = await this.room.meet(
      this.rank,
      "allReduce",
      Array<Uint8Array>(this.size).fill(bytes.slice()),
      alarm,
    );
    values.fill(0);
    for (const part of all) {
      const add = values instanceof Float32Array
        ? new Float32Array(part.buffer)
        : new Float64Array(part.buffer);
      for (let i = 0; i < values.length; i++) values[i]! += add[i]!;
    }
  }

  abort(exitCode: number): void {
    this.room.aborted ??= new RgxError(`rank ${this.rank} ended all ranks`, { exitCode });
  }

  async close(): Promise<void> {
    await this.room.meet(this.rank, "close", this.#nothing(), () => {});
  }

  #nothing(): Parts {
    return Array<Uint8Array>(this.size).fill(new Uint8Array(0));
  }
}

/** The transports of `size` ranks within this process. */
export function localTransports(size: number): Transport[] {
  const room = new Room(size);
  return Array.from({ length: size }, (_, rank) => new LocalTransport(room, rank));
}
