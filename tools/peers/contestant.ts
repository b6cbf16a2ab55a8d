/**
 * Processes that are measured in turns, and the Markdown about them. Each process loads what it
 * needs, and prints a line of JSON when it is ready. Then it does its work each time it gets a
 * line, and answers with a line of JSON. Of a process that dies, the exit status and the last lines
 * are known.
 */
import { V8_FLAGS } from "../../core/program_command.ts";
import { fenced } from "../performance_page.ts";
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

  /** Lets the process do its work once. @param request the line that it gets @throws Died */
  async round(request = "go"): Promise<Times> {
    // Writing to a process that has ended fails; its missing answer says why.
    await this.#input.write(new TextEncoder().encode(`${request}\n`)).catch(() => {});
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

/** Processes that were measured in turns. */
export interface Measured<Times> {
  /** The processes by their names, without those that died. */
  alive: Map<string, Contestant<Times>>;
  died: Died[];
  versions: string[];
}

/**
 * Starts all processes, measures them in turns, and ends them. One that dies is reported, and the
 * others go on.
 */
export async function inTurns<Times>(
  entries: readonly Entry[],
  rounds: number,
): Promise<Measured<Times>> {
  const all: Contestant<Times>[] = [], alive = new Map<string, Contestant<Times>>();
  const died: Died[] = [], versions = new Set<string>();
  const orDead = async (name: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      console.error(`${error.message}; the others go on`);
      died.push(error);
      alive.delete(name);
    }
  };
  try {
    for (const entry of entries) {
      await orDead(entry.name, async () => {
        const { contestant, version } = await Contestant.start<Times>(entry);
        all.push(contestant);
        alive.set(entry.name, contestant);
        versions.add(version);
      });
    }
    for (let round = 1; round <= rounds; round++) {
      for (const [name, contestant] of [...alive]) {
        await orDead(name, async () => {
          const times = JSON.stringify(await contestant.round());
          console.error(`round ${round} of ${rounds}, ${name}: ${times}`);
        });
      }
    }
  } finally {
    for (const contestant of all) await contestant.end();
  }
  return { alive, died, versions: [...versions].filter((version) => version !== "rgx") };
}

/** The text about processes that died; empty if none died. */
export function deaths(died: readonly Died[]): string[] {
  return died.map(({ message, lastLines }) => {
    const lines = lastLines.length === 0 ? ["(nothing on standard error)"] : lastLines;
    return `**${message}** and is left out. Its last lines:\n\n${fenced(lines.join("\n"))}`;
  });
}

/** The command of rgx's process. */
export function rgxCommand(job: object): [string, ...string[]] {
  return [Deno.execPath(), "run", "-A", V8_FLAGS, "tools/peers/rgx.ts", JSON.stringify(job)];
}
