/**
 * `deno task gpu:campaign`: measures a card in 25 minutes and writes its section of docs/gpu.md:
 * conformance, the tuner, products (beside torch), decoding, a GRPO step of Qwen2.5-0.5B's shape
 * (beside transformers and PEFT), kernels that memory limits, and the bus. On a software adapter
 * the sizes are tiny, and the result only shows that the program works.
 *
 * The goals' parts come first, on each device, and then the rest (gpu/visits.ts). Each visit of a
 * device is a process of its own. After each part, what was found is written. A part ends when its
 * share of the time is over. If a driver crashes or hangs, another process goes on with the part
 * after it.
 *
 *     deno task gpu:campaign [--device webgpu,vulkan] [--python PATH|none] [--page docs/gpu.md]
 *                            [--minutes 25] [--json FILE] [part …]
 */
import { parseArgs } from "node:util";
import { VERSION } from "../core/version.ts";
import { messageOf, UsageError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/atomic_file.ts";
import type { WebgpuDevice } from "../kernels/devices/webgpu/device.ts";
import { createDevice } from "../kernels/mod.ts";
import { measurableOn } from "../kernels/tuning/kept_choices.ts";
import { sampleCalls } from "../kernels/tuning/sample_calls.ts";
import { tune } from "../kernels/tuning/tuner.ts";
import { conformance } from "./gpu/conformance.ts";
import { memory, products, rehearsedProducts, stored, storedRows } from "./gpu/kernels.ts";
import { decode, rehearsedStep, step } from "./gpu/model.ts";
import { type CampaignResult, goalLines, withCard } from "./gpu/page.ts";
import { peaks } from "./gpu/peaks.ts";
import { findPython, peerProducts, peerStep } from "./gpu/peers.ts";
import { CARD, type Sizes, SOFTWARE } from "./gpu/sizes.ts";
import { type CampaignLine, IN_PROCESS } from "./gpu/process.ts";
import { makeVisits, type Part, PARTS, sharesOf, visitsOf } from "./gpu/visits.ts";
import { transfers } from "./gpu/transfers.ts";

export interface CampaignOptions {
  device: string;
  /** A Python with torch, transformers and peft; null: no comparison. */
  python: string | null;
  minutes: number;
  /** The parts that are measured. Default: all. */
  parts: readonly string[];
  /** What was found on this device before, or on another one by programs in Python. */
  before?: Partial<CampaignResult> | null;
  /** Called with a line before each part. */
  tell: (line: string) => void;
  /** Called before each part, and after it with all that was found until then. */
  progress?: (line: CampaignLine) => void;
  /** Of the tuner: its cache folder and program (tests). */
  tuner?: { cache: string | null; command?: readonly string[] };
}

/** @throws UsageError for a part that does not exist, or no time */
function check({ parts, minutes }: Pick<CampaignOptions, "parts" | "minutes">): void {
  const unknown = parts.find((part) => !(PARTS as readonly string[]).includes(part));
  if (unknown !== undefined) {
    throw new UsageError(`${unknown}: the parts are ${PARTS.join(", ")}`);
  }
  if (!(minutes > 0)) throw new UsageError(`--minutes ${minutes}: expected a number above 0`);
}

const choicesOf = (tuning: CampaignResult["tuning"]) =>
  Object.fromEntries(
    Object.entries(tuning?.choices ?? {}).map(([name, { kernel }]) => [name, kernel]),
  );

/** Measures the parts on a device, in this process. */
export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const { device: name, python, tell, before = null, progress = () => {} } = options;
  check(options);
  const begin = performance.now(), limit = options.minutes * 60_000;
  let kernelChoices = choicesOf(before?.tuning);
  const open = async () => {
    const opened = await createDevice(name) as WebgpuDevice;
    opened.kernelChoices = kernelChoices;
    return opened;
  };
  let device = await open();
  const { adapter } = device;
  if (adapter === undefined) {
    device.close();
    throw new UsageError(`--device ${name}: a campaign measures a graphics card`);
  }
  const sizes: Sizes = adapter.software ? SOFTWARE : CARD;
  const about = measurableOn(device.name, adapter),
    found: CampaignResult = {
      left: [],
      ...before,
      card: adapter.name,
      device: device.name,
      driver: about.driver,
      software: adapter.software,
      deno: Deno.version.deno,
      rgx: VERSION,
      date: new Date().toISOString().slice(0, 10),
      minutes: before?.minutes ?? 0,
    };
  const minutesBefore = found.minutes;
  const ahead = PARTS.filter((part) => options.parts.length === 0 || options.parts.includes(part));
  /**
   * A part fails alone: a lost device is opened again for the next one.
   * @param work it ends soon after its deadline, as of performance.now(), and says what it left out
   */
  const part = async (what: Part, work: (deadline: number) => Promise<string | void>) => {
    if (ahead[0] !== what) return;
    const spent = performance.now() - begin, all = sharesOf(ahead);
    ahead.shift();
    let isSpoilt = false;
    if (spent > limit) found.left.push(`${what} (no time)`);
    else {
      const ms = (limit - spent) * sharesOf([what]) / all;
      tell(`${(minutesBefore + spent / 60_000).toFixed(1)} min: ${what}`);
      progress({ event: "begins", part: what, seconds: ms / 1000 });
      try {
        const left = await work(begin + spent + ms);
        if (left !== undefined) found.left.push(`${what} (${left})`);
      } catch (error) {
        const reason = messageOf(error).split("\n")[0]!;
        tell(`${what} failed: ${reason}`);
        found.left.push(`${what} (${reason})`);
        isSpoilt = true;
      }
    }
    found.minutes = minutesBefore + (performance.now() - begin) / 60_000;
    // Before the device is opened again, which may fail.
    progress({ event: "ended", part: what, found: { ...found, left: [...found.left] } });
    if (!isSpoilt) return;
    device.close();
    device = await open();
  };
  /** Runs the half of a part that is rgx's; a peer has the other half, if it is measured. */
  const beside = (deadline: number, peer: unknown) =>
    python === null || peer !== undefined ? deadline : (performance.now() + deadline) / 2;
  try {
    await part("check", async (deadline) => {
      found.check = await conformance(open, sizes.check, deadline);
    });
    await part("tuning", async (deadline) => {
      const calls = [
        ...await rehearsedStep(device, sizes),
        ...await rehearsedProducts(device, sizes),
        ...await sampleCalls(device, adapter.software),
      ];
      const byClass = new Map(calls.map((call) => [call.class, call]));
      found.tuning = await tune([...byClass.values()], {
        about,
        card: device.card ?? null,
        budgetMs: Math.max(0, deadline - performance.now()),
        ...options.tuner,
      });
      device.kernelChoices = kernelChoices = choicesOf(found.tuning);
    });
    await part("peaks", async () => {
      found.peaks = await peaks(device, sizes);
    });
    await part("products", async (deadline) => {
      found.products = await products(device, sizes, beside(deadline, found.torch));
      if (python !== null) found.torch ??= await peerProducts(python, sizes, deadline);
      return without(found.products, 3 * sizes.products.length);
    });
    await part("decode", async (deadline) => {
      found.decode = await decode(device, sizes, deadline);
      return without(found.decode, sizes.branches.length);
    });
    await part("step", async (deadline) => {
      found.step = await step(device, sizes, beside(deadline, found.peer));
      if (python !== null) found.peer ??= await peerStep(python, sizes, deadline);
    });
    await part("stored", async (deadline) => {
      found.stored = await stored(device, sizes, deadline);
      return without(found.stored, storedRows(sizes));
    });
    await part("memory", async () => {
      found.memory = await memory(device, sizes);
    });
    await part("transfers", async () => {
      found.transfers = await transfers(device, sizes);
    });
    await part("conformance", async (deadline) => {
      found.conformance = await conformance(open, sizes.conformance, deadline);
    });
  } finally {
    device.close();
  }
  return found;
}

/** What a part says that had no time for all of its rows. */
function without(rows: readonly unknown[], all: number): string | undefined {
  return rows.length === all ? undefined : `no time for ${all - rows.length} of ${all} rows`;
}

if (import.meta.main) {
  await main().catch((error) => {
    console.error(`error: ${messageOf(error)}`);
    Deno.exit(1);
  });
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals: parts } = parseArgs({
    options: { device: text, python: text, page: text, minutes: text, json: text },
    allowPositionals: true,
  });
  const { page = "docs/gpu.md", json = null } = values;
  const devices = (values.device ?? "webgpu,vulkan").split(",");
  const minutes = Number(values.minutes ?? 25);
  const named = values.python === "none" ? null : values.python;
  const state = Deno.env.get(IN_PROCESS);
  if (state !== undefined) {
    const tell = (line: string) => console.error(line);
    const progress = (line: CampaignLine) => console.log(JSON.stringify(line));
    const before = JSON.parse(await Deno.readTextFile(state));
    const [device] = devices;
    await campaign({
      device: device!,
      python: named ?? null,
      minutes,
      parts,
      before,
      tell,
      progress,
    });
    return;
  }
  // Before anything is measured.
  check({ parts, minutes });
  await Deno.readTextFile(page);
  const python = named === undefined ? await findPython() : named;
  console.error(
    python === null
      ? "no Python with torch, transformers and peft (--python): nothing is measured beside them"
      : `beside ${python}`,
  );
  const all = new Map<string, CampaignResult>();
  const isWhole = await makeVisits(visitsOf(devices, parts), {
    script: import.meta.filename!,
    args: ["--python", python ?? "none"],
    minutes,
    tell: (line) => console.error(line),
    on: async (found) => {
      all.set(found.device, found);
      await writeFileAtomic(page, withCard(await Deno.readTextFile(page), found));
      if (json !== null) {
        await writeFileAtomic(json, JSON.stringify([...all.values()], null, 1) + "\n");
      }
    },
  });
  for (const found of all.values()) console.error(goalLines(found).join("\n"));
  console.error(all.size > 0 ? `written: ${page}` : "nothing was found");
  if (!isWhole) Deno.exit(1);
}
