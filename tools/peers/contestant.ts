/**
 * A process that is measured in turns with others. It loads what it needs, prints a line of JSON
 * when it is ready, and then does the same work each time it gets a line, and answers with a line
 * of JSON. A process that dies tells why: its exit status and its last lines.
 */
import { lines } from "./jobs.ts";

const ROOT = new URL("../../", import.meta.url);

/** Number of lines of standard error that are kept. */
const LAST_LINES = 12;

export interface Entry {
  name: string;
  command: [string, ...string[]];
}

/** The end of a process that should still run. */
export class Died extends Error {
  override name = "Died";
  constructor(
    readonly program: string,
    readonly how: string,
    /** The last lines that it wrote on standard error. */
    readonly lastLines: readonly string[],
  ) {
    super(`${program} died (${how})`);
  }
}

export class Contestant<Times> {
  readonly rounds: Times[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #answers: AsyncGenerator<string>;
  readonly #lastLines: string[] = [];
  readonly #errors: Promise<void>;

  private constructor({ name, command: [program, ...args] }: Entry) {
    this.name = name;
    const options = { args, cwd: ROOT, stdin: "piped", stdout: "piped", stderr: "piped" } as const;
    this.#child = new Deno.Command(program, options).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#answers = lines(this.#child.stdout);
    this.#errors = this.#keepErrors();
  }

  readonly name: string;

  /**
   * Starts a process and waits until it is ready. `version` is what the program reports.
   * @throws Died
   */
  static async start<Times>(
    entry: Entry,
  ): Promise<{ contestant: Contestant<Times>; version: string }> {
    const contestant = new Contestant<Times>(entry);
    const { version } = await contestant.#answer() as { version: string };
    return { contestant, version };
  }

  /** Lets the process do its work once. @throws Died */
  async round(): Promise<Times> {
    // Writing to a process that has ended fails; its missing answer says why.
    await this.#input.write(new TextEncoder().encode("go\n")).catch(() => {});
    const times = await this.#answer() as Times;
    this.rounds.push(times);
    return times;
  }

  async #keepErrors(): Promise<void> {
    for await (const line of lines(this.#child.stderr)) {
      console.error(line);
      this.#lastLines.push(line);
      if (this.#lastLines.length > LAST_LINES) this.#lastLines.shift();
    }
  }

  async #answer(): Promise<unknown> {
    const { value, done } = await this.#answers.next();
    if (!done) return JSON.parse(value);
    const { code, signal } = await this.#child.status;
    await this.#errors;
    throw new Died(this.name, signal ?? `exit status ${code}`, this.#lastLines);
  }

  async end(): Promise<void> {
    await this.#input.close().catch(() => {});
    await this.#child.status;
    await this.#errors;
  }

  /** The best value of all rounds. @param better Math.min or Math.max */
  best(of: (times: Times) => number, better: (...values: number[]) => number): number {
    return better(...this.rounds.map(of));
  }
}
