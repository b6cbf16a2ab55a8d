/**
 * `deno task bench:steady`: the speed of GRPO steps beside other work, as a share of what is fair.
 *
 *     deno task bench:steady [--large] [--trl PYTHON] [--rounds 5] [--seconds 2] [--cores 0,1]
 *       [--only TEXT] [--write]
 *
 * A situation is 1, 2 or 4 busy processes of one of three kinds (steady/busy.ts), loops that are in
 * groups of their own (as with sessions, containers and jobs), or a quota of 1.5 CPUs. Groups need
 * the right to make cgroups; without it these situations are left out. All programs are loaded
 * first and run on the same cores. In each round and for each situation, the measured program works
 * alone and then in this situation. 100 % is its throughput alone times the fair share of processor
 * time.
 *
 * As many processes of one thread, which never wait for each other, are measured in turns with it.
 * What they reach is what can be reached in a situation: caches and the memory are shared, too, and
 * other work on the machine disturbs both. With `--trl`, a Python with trl, peft and torch, steps
 * of TRL are measured in the same situations.
 *
 * `--large` measures SmolLM2-135M, too. `--only` is a part of a situation's name. `--write` puts
 * the tables into docs/performance.md.
 */
import { parseArgs } from "node:util";
import { largeModel } from "../tests/large_model.ts";
import { Contestant, type Entry } from "./peers/contestant.ts";
import { writeSection } from "./performance_page.ts";
import { type Cgroup, type Command, makeCgroup, NoCgroup } from "./steady/cgroup.ts";
import { BusyProcess } from "./steady/busy_process.ts";
import { QUOTA, type Situation, SITUATIONS } from "./steady/situations.ts";
import { type StepsJob, stepsOf, type StepsTimes } from "./steady/steps_job.ts";
import { withTrlCommand } from "./steady/trl.ts";
import { V8_FLAGS } from "../core/program_command.ts";

/** Milliseconds until the scheduler has settled in a new situation. */
const SETTLE_MS = 300;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

type Steps = Contestant<StepsTimes>;

/** Processes whose throughputs are added. */
interface Program {
  name: "rgx" | "apart" | "TRL";
  processes: Steps[];
}

interface Measured {
  situation: Situation;
  /** For each program, the share of its throughput alone, one for each round. */
  shares: Map<Program["name"], number[]>;
}

interface Settings {
  model: string | null;
  trl: Command | null;
  rounds: number;
  seconds: number;
  cores: string;
  only: string;
}

/** Steps a second of all processes of a program together. */
async function throughput({ processes }: Program): Promise<number> {
  const all = await Promise.all(processes.map((one) => one.round()));
  return all.reduce((sum, times) => sum + stepsOf(times) / times.seconds, 0);
}

/** What is started for a measurement, so that all of it can be ended. */
class Cast {
  readonly #contestants: Steps[] = [];
  readonly #busy: BusyProcess[] = [];
  readonly #groups: Cgroup[] = [];
  /** What the device of rgx is. */
  version = "";

  constructor(private readonly settings: Settings) {}

  #pinned(command: Command): Command {
    return ["taskset", "-c", this.settings.cores, ...command];
  }

  async group(name: string, cpus: number | null): Promise<Cgroup> {
    const group = await makeCgroup(name, cpus);
    this.#groups.push(group);
    return group;
  }

  async #contestant(entry: Entry): Promise<Steps> {
    const { contestant, version } = await Contestant.start<StepsTimes>(entry);
    this.version ||= version;
    this.#contestants.push(contestant);
    return contestant;
  }

  /** rgx as it is, rgx in single threads, and TRL. */
  async programs(within: (command: Command) => Command): Promise<Program[]> {
    const { model, seconds, cores, trl } = this.settings;
    const rgx = (threads: number | null) => {
      const job: StepsJob = { model, threads, seconds };
      const command: Command = [
        Deno.execPath(),
        "run",
        "-A",
        V8_FLAGS,
        "tools/steady/steps.ts",
        JSON.stringify(job),
      ];
      const name = threads === null ? "rgx" : "rgx, one thread";
      return this.#contestant({ name, command: within(this.#pinned(command)) });
    };
    const programs: Program[] = [{ name: "rgx", processes: [await rgx(null)] }];
    const apart: Steps[] = [];
    for (let i = 0; i < cores.split(",").length; i++) apart.push(await rgx(1));
    programs.push({ name: "apart", processes: apart });
    if (trl !== null) {
      const command = within(this.#pinned(trl));
      programs.push({
        name: "TRL",
        processes: [await this.#contestant({ name: "TRL", command })],
      });
    }
    return programs;
  }

  async startBusy(
    { kind, count }: Situation,
    within: (i: number, command: Command) => Command,
  ): Promise<BusyProcess[]> {
    const all: BusyProcess[] = [];
    for (let i = 0; i < count; i++) {
      const command = within(i, this.#pinned(BusyProcess.command(kind!)));
      const one = await BusyProcess.start(command);
      this.#busy.push(one);
      all.push(one);
    }
    return all;
  }

  async end(): Promise<void> {
    for (const one of this.#busy) await one.end();
    for (const one of this.#contestants) await one.end();
    for (const group of this.#groups) await group.remove();
  }
}

/** Measures all situations in turns. */
async function measure(
  settings: Settings,
): Promise<{ measured: Measured[]; version: string; skipped: string | null }> {
  const { cores, rounds } = settings, cast = new Cast(settings);
  const wanted = SITUATIONS.filter(({ name }) => name.includes(settings.only));
  const measured: Measured[] = [];
  const plans: { found: Measured; programs: Program[]; busy: BusyProcess[] }[] = [];
  let skipped: string | null = null;
  try {
    // One group for all that are in no other, so that nothing differs but the situation.
    const common = await cast.group("common", null).catch((error) => {
      if (!(error instanceof NoCgroup)) throw error;
      skipped = error.message;
      return null;
    });
    const inCommon = (command: Command) => common?.within(command) ?? command;
    const free = await cast.programs(inCommon);
    for (const situation of wanted) {
      const found = { situation, shares: new Map(free.map(({ name }) => [name, []])) };
      if (situation.groups && common === null) continue;
      if (situation.kind === null) {
        const group = await cast.group("quota", QUOTA);
        const programs = await cast.programs(group.within);
        plans.push({ found, programs, busy: [] });
      } else if (situation.groups) {
        const groups: Cgroup[] = [];
        for (let i = 0; i < situation.count; i++) {
          groups.push(await cast.group(`${situation.kind}-${situation.count}-${i}`, null));
        }
        const busy = await cast.startBusy(
          situation,
          (i, command) => groups[i]!.within(command),
        );
        plans.push({ found, programs: free, busy });
      } else {
        const busy = await cast.startBusy(situation, (_, command) => inCommon(command));
        plans.push({ found, programs: free, busy });
      }
      measured.push(found);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const { found: { situation, shares }, programs, busy } of plans) {
        for (const [i, { name }] of free.entries()) {
          const alone = await throughput(free[i]!);
          busy.forEach((one) => one.work());
          await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
          const together = await throughput(programs[i]!);
          busy.forEach((one) => one.rest());
          shares.get(name)!.push(together / alone);
        }
        const fair = situation.fair(cores.split(",").length);
        const last = [...shares].map(([name, all]) => `${name} ${(all.at(-1)! / fair).toFixed(2)}`);
        console.error(
          `round ${round} of ${rounds}, ${situation.name}: of the fair share ${last.join(", ")}`,
        );
      }
    }
    return { measured, version: cast.version, skipped };
  } finally {
    await cast.end();
  }
}

function table(measured: readonly Measured[], cores: number): string {
  const percent = (value: number) => `${(100 * value).toFixed(0)} %`;
  const names = [...measured[0]!.shares.keys()];
  const rows = measured.map(({ situation, shares }) => {
    const fair = situation.fair(cores);
    const cells = names.map((name) => percent(median(shares.get(name)!) / fair));
    return [situation.name, percent(fair), percent(median(shares.get("rgx")!)), ...cells];
  });
  const columns = ["beside", "fair", "rgx", ...names.map((name) => `${name}, of the fair share`)];
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [columns, columns.map((_, i) => i === 0 ? "---" : "---:"), ...rows].map(line).join("\n");
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      large: { type: "boolean", default: false },
      trl: { type: "string" },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      cores: { type: "string", default: "0,1" },
      only: { type: "string", default: "" },
      write: { type: "boolean", default: false },
    },
  });
  const { cores, only, trl } = values, before = Deno.loadavg()[0]!.toFixed(1);
  const settings = { rounds: Number(values.rounds), seconds: Number(values.seconds), cores, only };
  const large = values.large || trl !== undefined ? largeModel() : null;
  if ((values.large || trl !== undefined) && large === null) {
    console.error("no model: set RGX_TEST_LARGE=1, or name SmolLM2's file in RGX_TEST_MODEL");
    Deno.exit(2);
  }
  if (!SITUATIONS.some(({ name }) => name.includes(only))) {
    console.error(`no situation has "${only}" in its name: ${SITUATIONS.map(({ name }) => name)}`);
    Deno.exit(2);
  }
  const parts: string[] = [];
  const add = (name: string, { measured, version, skipped }: Awaited<ReturnType<typeof measure>>) =>
    parts.push(
      `### ${name}`,
      `On cores ${cores}: ${version}.` +
        (skipped === null ? "" : ` Without cgroups, which could not be made: ${skipped}.`),
      table(measured, cores.split(",").length),
    );
  add("The quickstart's model", await measure({ model: null, trl: null, ...settings }));
  if (large !== null) {
    const threads = cores.split(",").length;
    const found = trl === undefined
      ? await measure({ model: large, trl: null, ...settings })
      : await withTrlCommand(trl, large, threads, (command) =>
        measure({ model: large, trl: command, ...settings }));
    add("SmolLM2-135M", found);
  }
  const text = [
    "Written by `deno task bench:steady`: GRPO steps beside other processes on the same cores. " +
    '"Fair" is the fair share of the processor\'s time. "rgx" is the throughput as a share of that ' +
    `without the other processes, the median of ${values.rounds} rounds in turns. "Apart" is the ` +
    "same of as many separate processes of one thread, which never wait for one another. Bursts " +
    "leave more than the fair share, because they are slowed down, too. " +
    `The load before was ${before}.`,
    ...parts,
  ].join("\n\n");
  console.log(text);
  if (values.write) await writeSection("steady", text);
}
