/**
 * How many requests are under way: at most as many as asked for, half as many after the server said "too many",
 * one more after every twenty that went well.
 */

const GOOD_RUN = 20;

export class Limiter {
  #limit: number;
  #active = 0;
  #good = 0;
  #pausedUntil = 0;
  readonly #waiting: (() => void)[] = [];
  /** Most requests that were under way at once. */
  peak = 0;

  constructor(readonly most: number) {
    this.#limit = most;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Resolves when a request may begin. */
  async acquire(): Promise<void> {
    while (this.#active >= this.#limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#active++;
    this.peak = Math.max(this.peak, this.#active);
  }

  /** Milliseconds until the pause that the server asked for is over. */
  get pause(): number {
    return Math.max(0, this.#pausedUntil - performance.now());
  }

  release(how: "good" | "too many" | "failed", pauseMs = 0): void {
    this.#active--;
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + pauseMs);
    if (how === "too many") {
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
