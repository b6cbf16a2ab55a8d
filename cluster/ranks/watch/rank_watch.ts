/**
 * Notices that another rank was killed or hangs, or that its machine is gone. A rank that waits for
 * the others in MPI would otherwise wait forever under some launchers. A second thread watches
 * (worker.ts), because this thread may compute for minutes.
 */
import { EXIT, RgxError } from "../../../core/errors.ts";
import { runningTimeout } from "../../../core/machine/running_time.ts";
import { RankFailed, type Ranks } from "../ranks.ts";
import { processSpace, processStartTicks } from "../../../core/machine/process_alive.ts";
import {
  BEAT_MS,
  FAILED,
  lossText,
  STARTER_VARIABLE,
  type WatchAnswer,
  type WatchOrder,
  type WatchRequest,
  WORD,
} from "./shared_state.ts";

/** How long a rank tries to reach the first one, in milliseconds. */
const CONNECT_MS = 15_000;
/** How long a rank that fails tries to tell the others, in milliseconds. */
const TELL_MS = 500;

export class RankWatch {
  readonly #words = new Int32Array(new SharedArrayBuffer(4 * WORD.count));
  #worker: Worker | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly rank: number, private readonly size: number) {
    this.#words[WORD.exitCode] = EXIT.failure;
  }

  /**
   * Begins to watch.
   * @returns a warning, if the ranks cannot reach one another and nothing is watched
   */
  async start(ranks: Ranks): Promise<string | null> {
    const token = await ranks.first(() => crypto.randomUUID());
    const own = this.rank === 0 ? await this.#ask(null, token) : null;
    const first = await ranks.first(() => ({
      addresses: ["127.0.0.1", ...ownAddresses()],
      port: own !== null && "port" in own ? own.port : 0,
    }));
    const connected = (await ranks.each(async () => {
      if (this.rank === 0) return true;
      const found = await this.#ask(first, token);
      return found !== null && "connected" in found && found.connected;
    })).every((isConnected) => isConnected);
    if (!connected) {
      this.close();
      return "the ranks cannot reach one another by TCP: one that hangs will not be noticed";
    }
    this.#timer = setInterval(() => this.beat(), BEAT_MS);
    return null;
  }

  /** Starts the Worker and waits for its first answer; null if none comes. */
  async #ask(at: WatchRequest["at"], token: string): Promise<WatchAnswer | null> {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      type: "module",
      name: "rank watch",
    });
    this.#worker = worker;
    const { rank, size } = this;
    const request = { words: this.#words, rank, size, token, at, starter: starterOf() };
    return await this.#exchange(worker, request, CONNECT_MS);
  }

  /** Sends the Worker a message, and waits for its answer; null if none comes in time. */
  async #exchange(
    worker: Worker,
    what: WatchRequest | WatchOrder,
    ms: number,
  ): Promise<WatchAnswer | null> {
    const { promise, resolve } = Promise.withResolvers<WatchAnswer | null>();
    const stopTimer = runningTimeout(() => resolve(null), ms);
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage(what);
    const answer = await promise;
    stopTimer();
    return answer;
  }

  /** A sign of life of this thread. */
  beat(): void {
    Atomics.add(this.#words, WORD.beats, 1);
  }

  /** A checkpoint exists, so that a failure can be resumed. */
  keeps(): void {
    Atomics.store(this.#words, WORD.exitCode, EXIT.resumable);
  }

  /** The code to end with after the loss of a rank. */
  get exitCode(): number {
    return Atomics.load(this.#words, WORD.exitCode);
  }

  /** @throws RgxError when a rank is lost; RankFailed where another rank says it */
  check(): void {
    this.beat();
    const lost = Atomics.load(this.#words, WORD.lost) - 1;
    if (lost < 0) return;
    const { exitCode } = this, isResumable = exitCode === EXIT.resumable;
    const loss = Atomics.load(this.#words, WORD.loss), message = lossText(lost, loss, this.size);
    // The first remaining rank prints the error.
    if (loss === FAILED || this.rank !== (lost === 0 ? 1 : 0)) {
      throw new RankFailed(message, { exitCode });
    }
    throw new RgxError(message, {
      exitCode,
      advice: isResumable
        ? "All ranks end. --resume continues from the saved state, with any number of ranks."
        : "All ranks end. Nothing was saved yet.",
    });
  }

  /** Tells the others that this rank has said why it fails, and ends them. */
  async fails(): Promise<void> {
    if (this.#worker !== null) await this.#exchange(this.#worker, "failed", TELL_MS);
  }

  /** Says goodbye to the other ranks, so that they do not report this rank as lost. */
  close(): void {
    clearInterval(this.#timer);
    this.#worker?.postMessage("end" satisfies WatchOrder);
    this.#worker = null;
  }
}

/** The variable that tells the ranks which process starts them. */
export function starterVariables(): Record<string, string> {
  return { [STARTER_VARIABLE]: `${Deno.pid} ${processStartTicks(Deno.pid)} ${processSpace()}` };
}

/** The process that has started the ranks; null if this process cannot see it. */
function starterOf(): WatchRequest["starter"] {
  const [, pid, ticks, space] = /^(\d+) (\d+) (.+)$/.exec(Deno.env.get(STARTER_VARIABLE) ?? "") ??
    [];
  if (pid === undefined || ticks === undefined || space !== processSpace()) return null;
  return { pid: Number(pid), ticks };
}

function ownAddresses(): string[] {
  try {
    return Deno.networkInterfaces().map(({ address }) => address)
      .filter((address) => !/^(127\.|::1|fe80)/.test(address));
  } catch {
    return [];
  }
}
