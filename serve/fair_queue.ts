/**
 * Shares the model among requests. A request has one piece of work for each of its prompts. While
 * pieces wait, the requests take turns, so a request with a thousand prompts does not keep one with
 * a single prompt waiting. Pieces that have begun run together in the generation.
 */
import { ApiError } from "./api_error.ts";

interface Piece {
  /** Number of completions. */
  size: number;
  begin: () => void;
  fail: (reason: unknown) => void;
}

type Turn = Piece[];

export class FairQueue {
  /** The requests that wait, the next one first. */
  readonly #turns: Turn[] = [];
  /** Completions that have begun and not ended. */
  #running = 0;

  /** @param capacity completions at the same time @param maxWaiting requests that wait, at most */
  constructor(private readonly capacity: number, private readonly maxWaiting: number) {}

  get running(): number {
    return this.#running;
  }

  /** Number of requests of which a part waits. */
  get waiting(): number {
    return this.#turns.length;
  }

  /**
   * Makes the turn of a request. Its pieces are added by the function that it returns.
   * @throws ApiError 429 when too many requests wait
   */
  open(): <T>(size: number, signal: AbortSignal, work: () => Promise<T>) => Promise<T> {
    const isFree = this.#turns.length === 0 && this.#running < this.capacity;
    if (!isFree && this.#turns.length >= this.maxWaiting) {
      const message = `${this.#turns.length} requests wait already; try again later`;
      throw new ApiError(429, "rate_limit_error", message, { headers: { "retry-after": "1" } });
    }
    const turn: Turn = [];
    return (size, signal, work) => this.#add(turn, size, signal, work);
  }

  async #add<T>(
    turn: Turn,
    size: number,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    await new Promise<void>((begin, fail) => {
      if (signal.aborted) return fail(signal.reason);
      const piece: Piece = { size, begin, fail };
      const leave = () => {
        const at = turn.indexOf(piece);
        if (at < 0) return;
        turn.splice(at, 1);
        if (turn.length === 0) this.#turns.splice(this.#turns.indexOf(turn), 1);
        fail(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      piece.begin = () => {
        signal.removeEventListener("abort", leave);
        begin();
      };
      turn.push(piece);
      if (turn.length === 1) this.#turns.push(turn);
      this.#beginSome();
    });
    try {
      return await work();
    } finally {
      this.#running -= size;
      this.#beginSome();
    }
  }

  #beginSome(): void {
    for (let turn = this.#turns[0]; turn !== undefined; turn = this.#turns[0]) {
      const { size } = turn[0]!;
      if (this.#running > 0 && this.#running + size > this.capacity) return;
      const piece = turn.shift()!;
      this.#turns.shift();
      if (turn.length > 0) this.#turns.push(turn);
      this.#running += size;
      piece.begin();
    }
  }
}
