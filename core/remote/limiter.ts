/**
 * Limits how many requests run at the same time. The limit is halved when the server answers "too
 * many requests", and grows by one after every twenty successful requests, up to its maximum. If
 * requests that ran together are refused together, the limit is halved only once.
 */

const GOOD_RUN = 20;

export class Limiter {
  #limit: number;
  #active = 0;
  #good = 0;
  #pausedUntil = 0;
  #cuts = 0;
  readonly #waiting: (() => void)[] = [];
  peak = 0;

  constructor(readonly max: number) {
    this.#limit = max;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Resolves when a request may begin. @returns the ticket for `release` */
  async acquire(): Promise<number> {
    while (this.#active >= this.#limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#active++;
    this.peak = Math.max(this.peak, this.#active);
    return this.#cuts;
  }

  /** Milliseconds until the end of the pause that the server asked for. */
  get pause(): number {
    return Math.max(0, this.#pausedUntil - performance.now());
  }

  /** @param ticket what `acquire` has returned */
  release(ticket: number, how: "good" | "too many" | "failed", pauseMs = 0): void {
    this.#active--;
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + pauseMs);
    if (how === "too many" && ticket === this.#cuts) {
      this.#cuts++;
      this.#limit = Math.max(1, Math.floor(this.#limit / 2));
      this.#good = 0;
    } else if (how === "good" && ++this.#good >= GOOD_RUN) {
      this.#limit = Math.min(this.max, this.#limit + 1);
      this.#good = 0;
    }
    for (let free = this.#limit - this.#active; free > 0 && this.#waiting.length > 0; free--) {
      this.#waiting.shift()!();
    }
  }
}
