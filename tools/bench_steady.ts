/**
 * `deno task bench:steady`: the speed of GRPO steps beside other work, as a share of what is fair.
 *
 *     deno task bench:steady [--large] [--trl PYTHON] [--rounds 5] [--seconds 2] [--cores 0,1]
 *       [--only TEXT] [--write]
 *
 * The company is 1, 2 or 4 busy processes of three kinds (steady/busy.ts), loops that are in groups
 * of their own (as with sessions, containers and jobs), or a quota of 1.5 CPUs. Groups need the
 * right to make cgroups; without it these companies are left out. All programs are loaded first and
 * run on the same cores. In each round and for each company, the measured program works alone and
 * then in this company. 100 % is its throughput alone times the fair share of processor time.
 *
 * Beside it, in turns, as many processes of one thread work that never wait for each other. What
 * they reach in a company is what can be reached in it: caches and the memory are shared, too, and
 * other work on the machine disturbs both. With `--trl`, a Python with trl, peft and torch, steps
 * of TRL are measured in the same company.
 *
 * `--large` measures SmolLM2-135M, too. `--only` is a part of a company's name. `--write` puts the
 * tables into docs/performance.md.
 */
import { parseArgs } from "node:util";
import { largeModel } from "../tests/large_model.ts";
import { Contestant, type Entry } from "./peers/contestant.ts";
import { writeSection } from "./performance_page.ts";
import { type Cgroup, type Command, makeCgroup, NoCgroup } from "./steady/cgroup.ts";
import { Companion } from "./steady/companion.ts";
import { COMPANIES, type Company, QUOTA } from "./steady/companies.ts";
import { type StepsJob, stepsOf, type StepsTimes } from "./steady/steps_job.ts";
import { withTrlCommand } from "./steady/trl.ts";
import { V8_FLAGS } from "../core/program_command.ts";

/** Milliseconds until the scheduler has settled after the company has come. */
const SETTLE_MS = 300;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

type Steps = Contestant<StepsTimes>;

/** Processes whose throughputs are added. */
interface Program {
  name: "rgx" | "apart" | "TRL";
  processes: Steps[];
}

interface Measured {
  company: Company;
  /** For each program, the share of its throughput without company, one for each round. */
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
  readonly #companions: Companion[] = [];
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

  async companions(
    { kind, count }: Company,
    within: (i: number, command: Command) => Command,
  ): Promise<Companion[]> {
    const all: Companion[] = [];
    for (let i = 0; i < count; i++) {
      const command = within(i, this.#pinned(Companion.command(kind!)));
      const one = await Companion.start(command);
      this.#companions.push(one);
      all.push(one);
    }
    return all;
  }

  async end(): Promise<void> {
    for (const one of this.#companions) await one.end();
    for (const one of this.#contestants) await one.end();
    for (const group of this.#groups) await group.remove();
  }
}

/** Measures all companies in turns. */
async function measure(
  settings: Settings,
): Promise<{ measured: Measured[]; version: string; skipped: string | null }> {
  const { cores, rounds } = settings, cast = new Cast(settings);
  const wanted = COMPANIES.filter(({ name }) => name.includes(settings.only));
  const measured: Measured[] = [];
  const plans: { found: Measured; programs: Program[]; companions: Companion[] }[] = [];
  let skipped: string | null = null;
  try {
    // One group for all that are in no other, so that nothing differs but the company.
    const common = await cast.group("common", null).catch((error) => {
      if (!(error instanceof NoCgroup)) throw error;
      skipped = error.message;
      return null;
    });
    const inCommon = (command: Command) => common?.within(command) ?? command;
    const free = await cast.programs(inCommon);
    for (const company of wanted) {
      const found = { company, shares: new Map(free.map(({ name }) => [name, []])) };
      if (company.groups && common === null) continue;
      if (company.kind === null) {
        const group = await cast.group("quota", QUOTA);
        const programs = await cast.programs(group.within);
        plans.push({ found, programs, companions: [] });
      } else if (company.groups) {
        const groups: Cgroup[] = [];
        for (let i = 0; i < company.count; i++) {
          groups.push(await cast.group(`${company.kind}-${company.count}-${i}`, null));
        }
        const companions = await cast.companions(
          company,
          (i, command) => groups[i]!.within(command),
        );
        plans.push({ found, programs: free, companions });
      } else {
        const companions = await cast.companions(company, (_, command) => inCommon(command));
        plans.push({ found, programs: free, companions });
      }
      measured.push(found);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const { found: { company, shares }, programs, companions } of plans) {
        for (const [i, { name }] of free.entries()) {
          const alone = await throughput(free[i]!);
          companions.forEach((one) => one.work());
          await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
          const together = await throughput(programs[i]!);
          companions.forEach((one) => one.rest());
          shares.get(name)!.push(together / alone);
        }
        const fair = company.fair(cores.split(",").length);
        const last = [...shares].map(([name, all]) => `${name} ${(all.at(-1)! / fair).toFixed(2)}`);
        console.error(
          `round ${round} of ${rounds}, ${company.name}: of the fair share ${last.join(", ")}`,
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
  const rows = measured.map(({ company, shares }) => {
    const fair = company.fair(cores);
    const cells = names.map((name) => percent(median(shares.get(name)!) / fair));
    return [company.name, percent(fair), percent(median(shares.get("rgx")!)), ...cells];
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
  if (!COMPANIES.some(({ name }) => name.includes(only))) {
    console.error(`no company has "${only}" in its name: ${COMPANIES.map(({ name }) => name)}`);
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
