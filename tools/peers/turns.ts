/**
 * Processes that are measured in turns for `deno task bench:peers`, and the Markdown about them.
 */
import { V8_FLAGS } from "../../core/program_command.ts";
import { fenced } from "../performance_page.ts";
import { Contestant, Died, type Entry } from "./contestant.ts";

/** Processes that were measured in turns. */
export interface Measured<Times> {
  /** By their names; without those that died. */
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

/** What is said about processes that died; nothing if none did. */
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

export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = columns.map((_, i) => i === 0 ? "---" : "---:");
  return [columns, rule, ...rows].map(line).join("\n");
}
