/**
 * Divides the prompts of a generation batch among servers. A prompt that a server did not answer
 * goes to another one, or to the same one when it is back; what is sampled does not depend on who
 * samples it. A server that is down is asked again and again; one that refuses, or that has other
 * weights, is left out. When all have been down for longer than the limit, or none is left, the
 * batch fails with {@link NoServer}.
 */
import { Interrupted, RgxError } from "../../core/errors.ts";
import { HttpError } from "../../core/remote/refusal.ts";
import { runningTimeout } from "../../core/machine/running_time.ts";
import { backoff, pause, retrying } from "../../core/remote/retry.ts";
import type { Completion, GenerateRequest } from "../../models/generation/types.ts";
import { type RolloutServer, ServerDown } from "./rollout_server.ts";
import type { ServedAdapter } from "./served_adapter.ts";

export interface PoolOptions {
  /** Seconds for which all servers may be down. */
  timeout: number;
  /** Milliseconds before a server that is down is asked again, doubled up to 5 s. */
  firstDelay?: number;
  onNote: (message: string) => void;
}

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 5000;
/** With several servers, the share of a batch that is given out at first. */
const FIRST_SHARE = 0.75;
/** After this many answers 429 in a row, the advice is to give the server more room. */
const WARN_AFTER = 20;

/** A server that comes back and fails so often in a row fails the run. */
const MAX_FAILURES = 10;

/** No server answers: the run can go on when one is back. */
export class NoServer extends Interrupted {
  override name = "NoServer";
}

/** Whether a server has said why it does not do what it is asked. */
const isRefusal = (error: unknown): error is RgxError =>
  error instanceof RgxError && !(error instanceof Interrupted);

/** The completions of a prompt, and who sampled them. */
export interface Answered {
  completions: Completion[];
  server: RolloutServer;
  /** Which of its starts it was: see {@link RolloutServer.starts}. */
  start: number;
}

export class ServerPool {
  /** Servers that refuse what they are asked, or answer for another model, and why. */
  readonly #leftOut = new Map<RolloutServer, RgxError>();
  #hasSampled = false;
  readonly #recoveries = new Map<RolloutServer, Promise<void>>();
  readonly #failures = new Map<RolloutServer, number>();
  readonly #batches = new Set<PoolBatch>();
  readonly #closed = new AbortController();
  /** Ends the wait for a server, which began when the last one went down; null = one is up. */
  #stopWaiting: (() => void) | null = null;

  constructor(readonly servers: readonly RolloutServer[], private readonly options: PoolOptions) {}

  /** @throws NoServer; RgxError when all servers refuse to be asked */
  async open(signal: AbortSignal): Promise<void> {
    await this.#run(new PoolBatch(1, signal), this.#asked(), 1, () => Promise.resolve([]));
  }

  /** The servers that are not left out. @throws what `leaveOut` fails with when none is left */
  #asked(): RolloutServer[] {
    const asked = this.servers.filter((server) => !this.#leftOut.has(server));
    if (asked.length === 0) throw this.#noneLeft();
    return asked;
  }

  /**
   * Asks a server no more: it answers, but not as this run needs it. When none is left, a run that
   * has begun can be resumed, and one that has not must be set up in another way.
   */
  leaveOut(server: RolloutServer, error: RgxError): void {
    if (this.#leftOut.has(server)) return;
    this.#leftOut.set(server, error);
    if (this.#leftOut.size === this.servers.length) return this.#failAll(this.#noneLeft());
    const reason = error.message.replace(/\.$/, "");
    this.options.onNote(`${reason}; the run goes on without this server`);
    for (const batch of this.#batches) batch.wake();
  }

  #noneLeft(): RgxError {
    const errors = [...this.#leftOut.values()];
    if (!this.#hasSampled) return errors.at(-1)!;
    return new NoServer("no server of generation.base_url is left", {
      advice: errors.map(({ message }) => message).join("; "),
    });
  }

  hasSampled(): void {
    this.#hasSampled = true;
  }

  isLeftOut(server: RolloutServer): boolean {
    return this.#leftOut.has(server);
  }

  /**
   * The completions of all requests, in their order.
   * @throws NoServer; RgxError when all servers refuse and nothing was sampled yet; the signal's
   *   reason
   */
  async sample(
    requests: readonly GenerateRequest[],
    adapter: ServedAdapter,
    signal: AbortSignal,
  ): Promise<Answered[]> {
    const asked = this.#asked(), several = asked.length > 1;
    const batch = new PoolBatch(requests.length, signal);
    const share = Math.ceil(requests.length / asked.length * (several ? FIRST_SHARE : 1));
    // A single request goes to the server that has least to do.
    const byWork = asked.toSorted((a, b) => a.running - b.running);
    const work = (server: RolloutServer, job: number) =>
      server.complete(requests[job]!, adapter, batch.control.signal);
    return await this.#run(batch, byWork, share, work);
  }

  async close(): Promise<void> {
    this.#closed.abort(new Interrupted());
    this.#oneIsUp();
    for (const batch of this.#batches) batch.fail(new Interrupted());
    await Promise.all(this.#recoveries.values());
    await Promise.all(this.servers.map((server) => server.close()));
  }

  /** Gives each server `share` requests at a time; others take what one leaves when it fails. */
  async #run(
    batch: PoolBatch,
    servers: readonly RolloutServer[],
    share: number,
    work: (server: RolloutServer, job: number) => Promise<Completion[]>,
  ): Promise<Answered[]> {
    this.#batches.add(batch);
    const lanes = servers.flatMap((server) =>
      Array.from({ length: share }, () => this.#lane(server, batch, (job) => work(server, job)))
    );
    try {
      return await batch.end;
    } finally {
      this.#batches.delete(batch);
      await Promise.all(lanes);
    }
  }

  /** One of a server's requests at a time, until the batch has ended. */
  async #lane(
    server: RolloutServer,
    batch: PoolBatch,
    work: (job: number) => Promise<Completion[]>,
  ): Promise<void> {
    let tooMany = 0;
    while (!batch.ended && !this.#leftOut.has(server)) {
      if (server.down !== null || server.sameEngine === null) {
        await Promise.race([this.#recovery(server), batch.end.catch(() => {})]);
        continue;
      }
      const job = batch.take();
      if (job === null) {
        await batch.change();
        continue;
      }
      try {
        const { starts: start } = server, completions = await work(job);
        if (this.#leftOut.has(server)) return batch.putBack(job);
        batch.finish(job, { completions, server, start });
        tooMany = 0;
        this.#failures.delete(server);
      } catch (error) {
        batch.putBack(job);
        if (batch.ended) return;
        if (error instanceof ServerDown) this.#noteDown(server, error.message);
        else if (error instanceof HttpError) {
          if (++tooMany === WARN_AFTER) {
            this.options.onNote(`${server.url}: too many requests, again and again`);
          }
          const delay = error.delay ?? backoff(tooMany, FIRST_DELAY_MS, Math.random());
          await Promise.race([pause(delay, this.#closed.signal), batch.end.catch(() => {})]);
        } else if (isRefusal(error)) this.leaveOut(server, error);
        else batch.fail(error);
      }
    }
  }

  #noteDown(server: RolloutServer, reason: string): void {
    if (server.down !== null) return;
    server.fail(reason);
    const failures = (this.#failures.get(server) ?? 0) + 1;
    this.#failures.set(server, failures);
    if (failures > MAX_FAILURES) {
      const text = `${server.url} answers, and fails at each of ${failures} requests: ${reason}`;
      return this.leaveOut(server, new RgxError(text));
    }
    this.options.onNote(`${server.url} is down (${reason}); its prompts go to others or wait`);
  }

  /** Resolves when the server answers again, or everything has ended. */
  #recovery(server: RolloutServer): Promise<void> {
    const running = this.#recoveries.get(server);
    if (running !== undefined) return running;
    const recovery = this.#recover(server).finally(() => this.#recoveries.delete(server));
    this.#recoveries.set(server, recovery);
    return recovery;
  }

  async #recover(server: RolloutServer): Promise<void> {
    const wasUp = server.sameEngine !== null, { firstDelay = FIRST_DELAY_MS } = this.options;
    const failures = this.#failures.get(server) ?? 0, { signal } = this.#closed;
    if (failures > 1) await pause(backoff(failures - 1, firstDelay, Math.random()), signal);
    let isNew = !wasUp;
    try {
      await retrying(() => server.connect(), {
        firstDelay,
        longestDelay: MAX_DELAY_MS,
        signal,
        checkEnd: () => signal.throwIfAborted(),
        isTemporary: (error) => error instanceof ServerDown,
        onRetry: (error) => {
          const { message } = error as ServerDown;
          if (isNew) {
            this.options.onNote(`${server.url} cannot be reached yet (${message}): waiting for it`);
          }
          isNew = false;
          server.fail(message);
          this.#watchTime();
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      return isRefusal(error) ? this.leaveOut(server, error) : this.#failAll(error);
    }
    this.#oneIsUp();
    if (!this.#leftOut.has(server) && !isNew) this.options.onNote(`${server.url} answers`);
  }

  /** When no server is up, fails all batches unless one answers in time. */
  #watchTime(): void {
    if (this.#asked().some(({ down }) => down === null)) return this.#oneIsUp();
    const { timeout } = this.options;
    this.#stopWaiting ??= runningTimeout(() => {
      const reasons = this.#asked().map(({ url, down }) => `${url}: ${down}`).join("; ");
      const text = `no server of generation.base_url answers for ${timeout} s`;
      this.#failAll(new NoServer(text, { advice: reasons }));
    }, timeout * 1000);
  }

  #oneIsUp(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = null;
  }

  #failAll(error: unknown): void {
    for (const batch of this.#batches) batch.fail(error);
    // Whoever asks next waits anew.
    this.#oneIsUp();
  }
}

/** The prompts of a batch: which are to be sampled, and what has been. */
class PoolBatch {
  readonly #open: number[];
  readonly #answers: Answered[] = [];
  #left: number;
  #changed = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<Answered[]>();
  readonly control = new AbortController();
  ended = false;

  constructor(count: number, signal: AbortSignal) {
    // Taken from the end, so the first prompts come first.
    this.#open = Array.from({ length: count }, (_, i) => count - 1 - i);
    this.#left = count;
    if (count === 0) this.#finish(() => this.#end.resolve([]));
    if (signal.aborted) this.fail(signal.reason);
    const stop = () => this.fail(signal.reason);
    signal.addEventListener("abort", stop);
    this.end.catch(() => {}).finally(() => signal.removeEventListener("abort", stop));
  }

  get end(): Promise<Answered[]> {
    return this.#end.promise;
  }

  take(): number | null {
    return this.#open.pop() ?? null;
  }

  putBack(job: number): void {
    this.#open.push(job);
    this.wake();
  }

  finish(job: number, answer: Answered): void {
    this.#answers[job] = answer;
    if (--this.#left === 0) this.#finish(() => this.#end.resolve(this.#answers));
  }

  fail(error: unknown): void {
    this.#finish(() => this.#end.reject(error));
    this.control.abort();
  }

  /** Resolves when a prompt was put back, or the batch has ended. */
  change(): Promise<void> {
    return this.#changed.promise;
  }

  #finish(settle: () => void): void {
    if (this.ended) return;
    this.ended = true;
    settle();
    this.wake();
  }

  wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
