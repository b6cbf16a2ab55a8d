/** Adds up the results of several `deno test` runs, and prints the last lines of a test run. */
import { SKIPPED } from "../../tests/skipped.ts";

export class Summary {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly #reasons = new Map<string, number>();
  readonly #failures: string[] = [];

  /** Adds a check, which counts as one test. */
  addCheck(name: string, success: boolean): void {
    if (success) this.passed++;
    else this.#fail(name, 1);
  }

  /** Adds a run of `deno test`. @param text its output without colours */
  addRun(name: string, text: string, success: boolean): void {
    const closing = text.match(/^(?:ok|FAILED) \| .*$/gm)?.at(-1) ?? "";
    const count = (word: string) => Number(closing.match(new RegExp(`(\\d+) ${word}`))?.[1] ?? 0);
    this.passed += count("passed");
    this.skipped += count("ignored");
    // A crash, a leak outside a test and a module that does not load are not in the counts.
    const failed = success ? 0 : Math.max(1, count("failed"));
    if (failed > 0) this.#fail(name, failed);
    for (const line of text.split("\n")) {
      if (!line.startsWith(SKIPPED)) continue;
      const reason = line.slice(SKIPPED.length);
      this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    }
  }

  #fail(name: string, count: number): void {
    this.failed += count;
    this.#failures.push(name);
  }

  /** The last lines of output. The very last is `N passed, N failed` (`, N skipped`). */
  lines(): string[] {
    const lines = this.#failures.map((name) => `FAILED: ${name}`);
    let known = 0;
    for (const [reason, count] of [...this.#reasons].sort((a, b) => b[1] - a[1])) {
      lines.push(`skipped ${count}: ${reason}`);
      known += count;
    }
    if (known < this.skipped) lines.push(`skipped ${this.skipped - known}: no reason given`);
    const skipped = this.skipped > 0 ? `, ${this.skipped} skipped` : "";
    return [...lines, "", `${this.passed} passed, ${this.failed} failed${skipped}`];
  }
}
