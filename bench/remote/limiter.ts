/**
 * How many requests are under way: at most as many as asked for, half as many after the server said "too many",
 * one more after every twenty that went well. What was under way together and is refused together is one "too many".
 */

const GOOD_RUN = 20;

export class Limiter {
  #limit: number;
  #active = 0;
  #good = 0;
  #pausedUntil = 0;
  /** How often the limit was lowered. */
  #cuts = 0;
  readonly #waiting: (() => void)[] = [];
  /** Most requests that were under way at once. */
  peak = 0;

  constructor(readonly most: number) {
    this.#limit = most;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Resolves when a request may begin, with what `release` takes. */
  async acquire(): Promise<number> {
    while (this.#active >= this.#limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#active++;
    this.peak = Math.max(this.peak, this.#active);
    return this.#cuts;
  }

  /** Milliseconds until the pause that the server asked for is over. */
  get pause(): number {
    return Math.max(0, this.#pausedUntil - performance.now());
  }

  /** @param ticket what `acquire` gave */
  release(ticket: number, how: "good" | "too many" | "failed", pauseMs = 0): void {
    this.#active--;
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + pauseMs);
    if (how === "too many" && ticket === this.#cuts) {
      this.#cuts++;
      this.#limit = Math.max(1, Math.floor(this.#limit / 2));
      this.#good = 0;
    } else if (how === "good" && ++this.#good >= GOOD_RUN) {
      this.#limit = Math.min(this.most, this.#limit + 1);
      this.#good = 0;
    }
    for (let free = this.#limit - this.#active; free > 0 && this.#waiting.length > 0; free--) {
      this.#waiting.shift()!();
    }
  }
}
