/**
 * `deno task gpu:campaign`: measures a card in 25 minutes and writes its section of docs/gpu.md:
 * the tuner, products and a GRPO step of Qwen2.5-0.5B's shape (beside torch, transformers and
 * PEFT), decoding, the bus, conformance. On a software adapter the sizes are tiny, and the result
 * only shows that the program works.
 *
 * Each part is a process of its own on each device, so a driver that crashes or hangs costs that
 * part alone. What was found is written after each part.
 *
 *     deno task gpu:campaign [--device webgpu,vulkan] [--python PATH|none] [--page docs/gpu.md]
 *                            [--minutes 25] [--json FILE] [part …]
 */
import { parseArgs } from "node:util";
import { messageOf, UsageError } from "../core/errors.ts";
import { readLines } from "../core/line_pipe.ts";
import { writeFileAtomic } from "../core/atomic_file.ts";
import { V8_FLAGS } from "../core/program_command.ts";
import { type CampaignResult, goalLines, withCard } from "./gpu/page.ts";
import { findPython, type PeerProduct, type PeerStep, runPeer } from "./gpu/peers.ts";
import { measurePart, type PartJob, PARTS, SHARES } from "./gpu/parts.ts";
import { CARD, SOFTWARE } from "./gpu/sizes.ts";

/** A driver may compile for a while beyond the time of its part. */
const GRACE_MS = 120_000;

export interface CampaignOptions {
  devices: readonly string[];
  /** The parts that are measured; none: all. */
  parts: readonly string[];
  minutes: number;
  /** A Python with torch, transformers and peft; null: no comparison. */
  python: string | null;
  /** The program that measures a part; its last argument is the job. */
  command?: readonly string[];
  graceMs?: number;
  /** Called with what a user should know. */
  tell: (line: string) => void;
  /** Called after each part with all that was found on a device. */
  on: (found: CampaignResult) => Promise<void>;
}

const SELF = ["run", "-A", "--quiet", "--no-check", V8_FLAGS, import.meta.filename!, "--part"];

/**
 * Measures the parts in their order, each on all devices; what one leaves of its time goes to those
 * after it.
 * @returns whether all parts came to their ends
 * @throws UsageError for a part that does not exist, or no time
 */
export async function campaign(options: CampaignOptions): Promise<boolean> {
  const { devices, minutes, python, tell, on } = options;
  const unknown = options.parts.find((part) => !(PARTS as readonly string[]).includes(part));
  if (unknown !== undefined) throw new UsageError(`${unknown}: the parts are ${PARTS.join(", ")}`);
  if (!(minutes > 0)) throw new UsageError(`--minutes ${minutes}: expected a number above 0`);
  const parts = PARTS.filter((part) =>
    (options.parts.length === 0 || options.parts.includes(part)) &&
    (part !== "peers" || python !== null)
  );
  const jobs = parts.flatMap((part) =>
    (part === "peers" ? ["python"] : devices).map((device) => ({ device, part }))
  );
  const begin = performance.now(), found = new Map<string, CampaignResult>();
  let isWhole = true;
  for (const [i, { device, part }] of jobs.entries()) {
    const left = Math.max(0, minutes * 60 - (performance.now() - begin) / 1000);
    const seconds = left * SHARES[part] /
      jobs.slice(i).reduce((sum, { part }) => sum + SHARES[part], 0);
    tell(`${((performance.now() - begin) / 60_000).toFixed(1)} min: ${device}, ${part}`);
    if (part === "peers") await measurePeers(python!, seconds, found);
    else {
      const tuning = found.get(device)?.tuning ?? null;
      const ended = await runPart({ device, part, seconds, tuning }, options, (part) => {
        const before = found.get(device), { left = [], ...rest } = part;
        const all = { ...before, ...rest, left: [...before?.left ?? [], ...left] };
        found.set(device, all as CampaignResult);
      });
      if (ended !== null) {
        isWhole = false;
        tell(`${device}, ${part}: ${ended}`);
        found.get(device)?.left.push(`${part} (${ended})`);
      }
    }
    for (const result of part === "peers" ? found.values() : [found.get(device)]) {
      if (result === undefined) continue;
      result.minutes = (performance.now() - begin) / 60_000;
      await on(result);
    }
  }
  return isWhole && found.size > 0;
}

/** What programs in Python take on this card stands beside all devices. */
async function measurePeers(
  python: string,
  seconds: number,
  found: ReadonlyMap<string, CampaignResult>,
): Promise<void> {
  const isSoftware = [...found.values()].every(({ software }) => software);
  const { products, model, step } = isSoftware ? SOFTWARE : CARD;
  const half = performance.now() + 500 * seconds, end = half + 500 * seconds;
  const torch = await runPeer<PeerProduct[]>(python, "torch_products.py", products, half);
  const peer = await runPeer<PeerStep>(python, "hf_grpo_step.py", { model, ...step }, end);
  for (const result of found.values()) Object.assign(result, { torch, peer });
}

/**
 * Runs a part in a process.
 * @param keep called with the lines that the process prints
 * @returns null when it has come to its end, else what happened to it
 */
async function runPart(
  job: PartJob,
  { command = [Deno.execPath(), ...SELF], graceMs = GRACE_MS }: CampaignOptions,
  keep: (found: Partial<CampaignResult>) => void,
): Promise<string | null> {
  const [program, ...args] = command;
  const signal = AbortSignal.timeout(1000 * job.seconds + graceMs);
  const child = new Deno.Command(program!, {
    args: [...args, JSON.stringify(job)],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill);
  let failure: string | null = null;
  for await (const lines of readLines(child.stdout)) {
    for (const line of lines) {
      // A driver may print, too.
      if (line.startsWith('{"found":')) keep(JSON.parse(line).found);
      if (line.startsWith('{"failed":')) failure = JSON.parse(line).failed;
    }
  }
  const { code, signal: ending } = await child.status;
  signal.removeEventListener("abort", kill);
  if (signal.aborted) return "it took longer than its time, and was ended";
  if (ending !== null) return `its process was ended by ${ending}`;
  return failure ?? (code === 0 ? null : `its process ended with code ${code}`);
}

/** The process of one part. */
async function partProcess(job: PartJob): Promise<void> {
  const print = (line: unknown) => console.log(JSON.stringify(line));
  try {
    print({ found: await measurePart(job, { onOpen: (found) => print({ found }) }) });
  } catch (error) {
    print({ failed: messageOf(error).split("\n")[0] });
  }
  Deno.exit(0); // A lost device may keep the process.
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals: parts } = parseArgs({
    options: { device: text, python: text, page: text, minutes: text, json: text, part: text },
    allowPositionals: true,
  });
  if (values.part !== undefined) return await partProcess(JSON.parse(values.part));
  const { page = "docs/gpu.md", json = null } = values;
  await Deno.readTextFile(page); // Before anything is measured.
  const python = values.python === undefined
    ? await findPython()
    : values.python === "none"
    ? null
    : values.python;
  console.error(
    python === null
      ? "no Python with torch, transformers and peft (--python): nothing is measured beside them"
      : `beside ${python}`,
  );
  const all = new Map<string, CampaignResult>();
  const isWhole = await campaign({
    devices: (values.device ?? "webgpu,vulkan").split(","),
    parts,
    minutes: Number(values.minutes ?? 25),
    python,
    tell: (line) => console.error(line),
    on: async (found) => {
      all.set(found.device, found);
      await writeFileAtomic(page, withCard(await Deno.readTextFile(page), found));
      if (json === null) return;
      await writeFileAtomic(json, JSON.stringify([...all.values()], null, 1) + "\n");
    },
  });
  for (const found of all.values()) console.error(goalLines(found).join("\n"));
  console.error(all.size > 0 ? `written: ${page}` : "nothing was found");
  if (!isWhole) Deno.exit(1);
}

if (import.meta.main) {
  await main().catch((error) => {
    console.error(`error: ${messageOf(error)}`);
    Deno.exit(1);
  });
}
