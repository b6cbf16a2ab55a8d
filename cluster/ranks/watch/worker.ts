/// <reference lib="deno.worker" />
/**
 * The thread of a rank that watches the others. All ranks have a connection to the first one, and
 * send a line each second. A connection that closes without a word, or a rank that is silent, is a
 * lost rank; the first rank tells the others. The thread that works learns it from shared memory.
 * If it does not end the run, because it computes or hangs, this thread ends the process.
 */
import { processIsAlive, processStartTicks } from "../../../core/machine/process_alive.ts";
import {
  BEAT_MS,
  FAILED,
  GRACE_MS,
  lossText,
  SILENT_MS,
  SPEAKER_FIRST_MS,
  STALLED_MS,
  type WatchAnswer,
  type WatchOrder,
  type WatchRequest,
  WORD,
} from "./shared_state.ts";

const encoder = new TextEncoder();
const answer = (message: WatchAnswer) => self.postMessage(message);

interface Peer {
  rank: number;
  connection: Deno.Conn;
  /** Time of the last line from the rank. */
  heard: number;
  /** Whether the rank has said that it ends. */
  left: boolean;
}

let request: WatchRequest;
const peers: Peer[] = [];
let isEnding = false;

self.onmessage = ({ data }: MessageEvent<WatchRequest | WatchOrder>) => {
  if (data === "failed") {
    isEnding = true;
    const line = `lost ${request.rank} ${FAILED}`;
    return void Promise.all(peers.map((peer) => send(peer, line))).then(() =>
      answer({ told: true })
    );
  }
  if (data === "end") {
    isEnding = true;
    return void Promise.all(peers.map((peer) => send(peer, "bye"))).finally(() => {
      for (const { connection } of peers) close(connection);
      self.close();
    });
  }
  request = data;
  setInterval(beat, BEAT_MS);
  if (data.at === null) void listen();
  else void connect(data.at);
};

async function listen(): Promise<void> {
  const listener = Deno.listen({ hostname: "0.0.0.0", port: 0 });
  answer({ port: listener.addr.port });
  for await (const connection of listener) void accept(connection);
}

async function accept(connection: Deno.Conn): Promise<void> {
  const lines = readLines(connection);
  const [token, rank] = (await lines.next()).value?.split(" ") ?? [];
  if (token !== request.token) return close(connection);
  await follow({ rank: Number(rank), connection, heard: performance.now(), left: false }, lines);
}

async function connect({ addresses, port }: NonNullable<WatchRequest["at"]>): Promise<void> {
  for (const hostname of addresses) {
    try {
      const connection = await Deno.connect({ hostname, port });
      const peer = { rank: 0, connection, heard: performance.now(), left: false };
      await send(peer, `${request.token} ${request.rank}`);
      answer({ connected: true });
      return await follow(peer, readLines(connection));
    } catch {
      continue; // not from this machine
    }
  }
  answer({ connected: false });
}

/** Reads what another rank says until it ends. */
async function follow(peer: Peer, lines: AsyncGenerator<string>): Promise<void> {
  peers.push(peer);
  try {
    for await (const line of lines) {
      peer.heard = performance.now();
      if (line === "bye") peer.left = true;
      const [, rank, loss] = /^lost (\d+) (\d+)$/.exec(line) ?? [];
      if (rank !== undefined) lose(Number(rank), Number(loss));
    }
  } catch {
    // The connection was reset, as by a machine that has gone.
  }
  if (!peer.left && !isEnding) lose(peer.rank, 0);
}

async function* readLines(connection: Deno.Conn): AsyncGenerator<string> {
  let rest = "";
  for await (const text of connection.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

async function send({ connection }: Peer, line: string): Promise<void> {
  try {
    await connection.write(encoder.encode(line + "\n"));
  } catch {
    // The loop that reads from the connection notices the failure.
  }
}

let lastBeat = performance.now(), lastCount = -1, movedAt = lastBeat;

function beat(): void {
  const now = performance.now(), { words, rank } = request;
  const count = Atomics.load(words, WORD.beats);
  // After a pause of this process itself (a suspended job), nobody has been silent.
  const wasAsleep = now - lastBeat > 3 * BEAT_MS;
  lastBeat = now;
  if (count !== lastCount || wasAsleep) movedAt = now;
  lastCount = count;
  if (isEnding) return;
  for (const peer of peers) {
    if (wasAsleep) peer.heard = now;
    if (peer.left) continue;
    void send(peer, "here");
    if (now - peer.heard > SILENT_MS) lose(peer.rank, 1);
  }
  if (now - movedAt > STALLED_MS) lose(rank, 2);
  const { starter, size } = request;
  if (starter !== null && !isAlive(starter)) lose(size, 0);
}

function isAlive({ pid, ticks }: { pid: number; ticks: string }): boolean {
  return processIsAlive(pid) && processStartTicks(pid) === ticks;
}

/** Records the first loss, tells the others, and ends this process if nobody else does. */
function lose(rank: number, loss: number): void {
  const { words } = request;
  if (Atomics.compareExchange(words, WORD.lost, 0, 1 + rank) !== 0) return;
  Atomics.store(words, WORD.loss, loss);
  for (const peer of peers) if (peer.rank !== rank) void send(peer, `lost ${rank} ${loss}`);
  setTimeout(() => {
    if (isEnding) return;
    if (speaks(rank, loss)) console.error(`error: ${lossText(rank, loss, request.size)}`);
    endProcess(Atomics.load(words, WORD.exitCode));
  }, speaks(rank, loss) ? GRACE_MS : SPEAKER_FIRST_MS);
}

/** Whether this rank prints the loss: it is the first remaining rank. */
function speaks(lost: number, loss: number): boolean {
  return loss !== FAILED && request.rank === (lost === 0 ? 1 : 0);
}

/** Ends the whole process at once; Deno.exit in a Worker would end the Worker. */
function endProcess(code: number): void {
  const name = Deno.build.os === "darwin" ? "libSystem.dylib" : "libc.so.6";
  Deno.dlopen(name, { _exit: { parameters: ["i32"], result: "void" } }).symbols._exit(code);
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // The connection is closed already.
  }
}
