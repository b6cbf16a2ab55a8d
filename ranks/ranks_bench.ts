/**
 * What the plan of a run on several ranks is made from (docs/scaling.md): the time of a meeting,
 * and of sums of gradients of some sizes, with 1, 2 and 4 ranks of this machine and each MPI that
 * is installed.
 *
 *     deno task bench:ranks
 *
 * Prints Markdown: the median and, in brackets, the least of the rounds. All sizes are measured in
 * every round, so that a disturbance of the machine affects all.
 */
import { quantile } from "../core/statistics.ts";
import { launch, launchers } from "./mpi/launchers_testing.ts";
import { MpiTransport } from "./mpi/mpi_transport.ts";
import { ALONE, Ranks } from "./ranks.ts";
import { addInto } from "./sum_tree.ts";

const ROUNDS = 7, MEETINGS = 20;
/** Values of a sum: 64 kB, 1 MB, 16 MB, 64 MB. */
const SIZES = [2 ** 14, 2 ** 18, 2 ** 22, 2 ** 24];
const NAMES = ["meeting", "64 kB", "1 MB", "16 MB", "64 MB"];

/** Seconds of the rounds, for each name of a measurement. */
type Times = Record<string, number[]>;

async function measure(ranks: Ranks): Promise<Times> {
  const times: Times = {};
  const time = async (name: string, work: () => Promise<unknown> | void, count = 1) => {
    await ranks.meet();
    const begin = performance.now();
    for (let i = 0; i < count; i++) await work();
    (times[name] ??= []).push((performance.now() - begin) / 1e3 / count);
  };
  const buffers = SIZES.map((length) => new Float32Array(length).fill(1));
  const largest = buffers.at(-1)!, other = new Float32Array(largest.length).fill(1);
  for (let round = 0; round < ROUNDS; round++) {
    await time("meeting", () => ranks.meet(), MEETINGS);
    for (const [i, value] of buffers.entries()) {
      const own = [{ node: { level: 0, index: ranks.rank }, value }];
      const zeros = () => new Float32Array(value.length);
      await time(`exact ${NAMES[i + 1]}`, () => ranks.sum(ranks.size, own, zeros).then(() => {}));
      await time(`fast ${NAMES[i + 1]}`, () => ranks.sumFast(value));
    }
    await time("add 64 MB", () => addInto(other, largest));
  }
  return times;
}

function shown(times: readonly number[] | undefined): string {
  if (times === undefined) return "–";
  const ms = (seconds: number) => Number((1e3 * seconds).toPrecision(2));
  return `${ms(quantile(times, 0.5))} (${ms(Math.min(...times))})`;
}

/** The times of the first rank. */
async function underLauncher(index: number, ranks: number): Promise<Times> {
  const launcher = launchers[index]!, self = new URL(import.meta.url).pathname;
  const { code, out, err } = await launch(launcher, ranks, [
    ...[Deno.execPath(), "run", "-A", "--no-check", self, "rank"],
  ]);
  if (code !== 0) throw new Error(`${launcher.name}, ${ranks} ranks: ${err}`);
  return JSON.parse(out.trim().split("\n").at(-1)!);
}

if (Deno.args[0] === "rank") {
  const ranks = new Ranks(MpiTransport.open());
  const times = await measure(ranks);
  if (ranks.isFirst) console.log(JSON.stringify(times));
  await ranks.close();
} else {
  const load = Deno.loadavg().map((value) => value.toFixed(1)).join(", ");
  console.log(`${navigator.hardwareConcurrency} cores, load ${load}; milliseconds\n`);
  const columns = [
    "meeting",
    ...["exact", "fast"].flatMap((how) => NAMES.slice(1).map((size) => `${how} ${size}`)),
  ];
  const row = (name: string, times: Times) =>
    console.log(`| ${[name, ...columns.map((column) => shown(times[column]))].join(" | ")} |`);
  console.log(`| | ${columns.join(" | ")} |\n|${" --- |".repeat(columns.length + 1)}`);
  const alone = await measure(ALONE);
  row("1 rank", alone);
  for (const [index, { name }] of launchers.entries()) {
    for (const ranks of [2, 4]) row(`${name}, ${ranks} ranks`, await underLauncher(index, ranks));
  }
  console.log(`\nOne rank adds 64 MB to 64 MB in ${shown(alone["add 64 MB"])} ms.`);
}
