/**
 * Processes that are measured in turns, and the Markdown about them. Each process loads what it
 * needs, and prints a line of JSON when it is ready. Then it does its work each time it gets a
 * line, and answers with a line of JSON. Of a process that dies, the exit status and the end of its
 * standard error are known.
 */
import { LineProcess } from "../../core/machine/line_process.ts";
import { V8_FLAGS } from "../../core/program_command.ts";
import { fenced } from "../performance_page.ts";

export interface Entry {
  name: string;
  command: [string, ...string[]];
}

/** The end of a process that should still run. */
export class Died extends Error {
  override name = "Died";
  constructor(readonly program: string, readonly how: string) {
    super(`${program} died: ${how}`);
  }
}

export class Contestant<Times> {
  readonly rounds: Times[] = [];
  readonly #process: LineProcess;
  readonly #lines: string[] = [];
  #heard = () => {};

  private constructor(readonly name: string, command: readonly string[]) {
    this.#process = new LineProcess(command, (lines) => {
      this.#lines.push(...lines);
      this.#heard();
    });
  }

  /**
   * Starts a process and waits until it is ready. `version` is what the program reports.
   * @throws Died
   */
  static async start<Times>(
    { name, command }: Entry,
  ): Promise<{ contestant: Contestant<Times>; version: string }> {
    const contestant = new Contestant<Times>(name, command);
    const { version } = await contestant.#answer() as { version: string };
    return { contestant, version };
  }

  /** Lets the process do its work once. @param request the line that it gets @throws Died */
  async round(request = "go"): Promise<Times> {
    this.#process.send(request);
    const times = await this.#answer() as Times;
    this.rounds.push(times);
    return times;
  }

  async #answer(): Promise<unknown> {
    while (this.#lines.length === 0) {
      const { ended } = this.#process;
      if (ended !== null) throw new Died(this.name, ended);
      await new Promise<void>((resolve) => this.#heard = resolve);
    }
    return JSON.parse(this.#lines.shift()!);
  }

  end(): Promise<void> {
    return this.#process.close();
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
  return died.map(({ program, how }) => `**${program} died** and is left out:\n\n${fenced(how)}`);
}

/** The command of rgx's process. */
export function rgxCommand(job: object): [string, ...string[]] {
  return [Deno.execPath(), "run", "-A", V8_FLAGS, "tools/peers/rgx.ts", JSON.stringify(job)];
}
