/**
 * `deno task gpu:campaign`: measures a card in 25 minutes and writes its section of docs/gpu.md:
 * conformance, the tuner, products (beside torch), kernels that memory limits, the bus, decoding,
 * and a GRPO step of Qwen2.5-0.5B's shape (beside transformers, PEFT). On a software adapter the
 * sizes are tiny, and the result only shows that the program works.
 *
 * Each device is measured in a process of its own. After each part, what was found is written. A
 * part ends when its share of the time is over; a process that takes much longer than it was given
 * (a driver hangs) is ended, and the next device is measured.
 *
 *     deno task gpu:campaign [--device webgpu,vulkan] [--python PATH] [--page docs/gpu.md]
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
import { type CampaignResult, withCard } from "./gpu/page.ts";
import { peerProducts, peerStep } from "./gpu/peers.ts";
import { CARD, type Sizes, SOFTWARE } from "./gpu/sizes.ts";
import { IN_PROCESS, measuredInProcess } from "./gpu/process.ts";
import { transfers } from "./gpu/transfers.ts";

export const PARTS = [
  "conformance",
  "tuning",
  "products",
  "stored",
  "memory",
  "transfers",
  "decode",
  "step",
] as const;

export interface CampaignOptions {
  device: string;
  /** A Python with torch, transformers and peft; null: no comparison. */
  python: string | null;
  minutes: number;
  /** The parts that are measured. Default: all. */
  parts: readonly string[];
  /** Called with a line before each part. */
  tell: (line: string) => void;
  /** Called after each part with all that was found until then. */
  progress?: (found: CampaignResult) => void;
  /** Of the tuner: its cache folder and program (tests). */
  tuner?: { cache: string | null; command?: readonly string[] };
}

type Part = typeof PARTS[number];

/** What each part may take of the time, beside the parts after it. */
const SHARES: Readonly<Record<Part, number>> = {
  conformance: 7,
  tuning: 6,
  products: 3,
  stored: 1,
  memory: 1,
  transfers: 1,
  decode: 2,
  step: 4,
};

/** @throws UsageError for a part that does not exist, or no time */
function check({ parts, minutes }: Pick<CampaignOptions, "parts" | "minutes">): void {
  const unknown = parts.find((part) => !(PARTS as readonly string[]).includes(part));
  if (unknown !== undefined) {
    throw new UsageError(`${unknown}: the parts are ${PARTS.join(", ")}`);
  }
  if (!(minutes > 0)) throw new UsageError(`--minutes ${minutes}: expected a number above 0`);
}

export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const { device: name, python, tell } = options;
  check(options);
  const begin = performance.now(), limit = options.minutes * 60_000;
  let kernelChoices: Record<string, string> = {};
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
      card: adapter.name,
      device: device.name,
      driver: about.driver,
      software: adapter.software,
      deno: Deno.version.deno,
      rgx: VERSION,
      date: new Date().toISOString().slice(0, 10),
      minutes: 0,
      left: [],
    };
  const ahead = PARTS.filter((part) => options.parts.length === 0 || options.parts.includes(part));
  /**
   * A part fails alone: a lost device is opened again for the next one.
   * @param work it ends soon after its deadline, as of performance.now(), and says what it left out
   */
  const part = async (what: Part, work: (deadline: number) => Promise<string | void>) => {
    if (ahead[0] !== what) return;
    const spent = performance.now() - begin;
    const shares = ahead.reduce((sum, part) => sum + SHARES[part], 0);
    ahead.shift();
    if (spent > limit) found.left.push(`${what} (no time)`);
    else {
      tell(`${(spent / 60_000).toFixed(1)} min: ${what}`);
      try {
        const left = await work(begin + spent + (limit - spent) * SHARES[what] / shares);
        if (left !== undefined) found.left.push(`${what} (${left})`);
      } catch (error) {
        const reason = messageOf(error).split("\n")[0]!;
        tell(`${what} failed: ${reason}`);
        found.left.push(`${what} (${reason})`);
        device.close();
        device = await open();
      }
    }
    found.minutes = (performance.now() - begin) / 60_000;
    const left = [...found.left, ...ahead.map((part) => `${part} (not reached)`)];
    options.progress?.({ ...found, left });
  };
  /** Runs the half of a part that is rgx's; a peer has the other half, if it is measured. */
  const beside = (deadline: number) =>
    python === null ? deadline : (performance.now() + deadline) / 2;
  try {
    await part("conformance", async (deadline) => {
      found.conformance = await conformance(open, sizes.conformance, deadline);
    });
    await part("tuning", async (deadline) => {
      const calls = [
        ...await sampleCalls(device, adapter.software),
        ...await rehearsedProducts(device, sizes),
        ...await rehearsedStep(device, sizes),
      ];
      const byClass = new Map(calls.map((call) => [call.class, call]));
      found.tuning = await tune([...byClass.values()], {
        about,
        card: device.card ?? null,
        budgetMs: Math.max(0, deadline - performance.now()),
        ...options.tuner,
      });
      const chosen = Object.entries(found.tuning.choices);
      kernelChoices = Object.fromEntries(chosen.map(([key, { kernel }]) => [key, kernel]));
      device.kernelChoices = kernelChoices;
    });
    await part("products", async (deadline) => {
      found.products = await products(device, sizes, beside(deadline));
      if (python !== null) found.torch = await peerProducts(python, sizes, deadline);
      return without(found.products, 3 * sizes.products.length);
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
    await part("decode", async (deadline) => {
      found.decode = await decode(device, sizes, deadline);
      return without(found.decode, sizes.branches.length);
    });
    await part("step", async (deadline) => {
      found.step = await step(device, sizes, beside(deadline));
      if (python !== null) found.peer = await peerStep(python, sizes, deadline);
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
  const { values, positionals: args } = parseArgs({
    options: { device: text, python: text, page: text, minutes: text, json: text },
    allowPositionals: true,
  });
  const { page = "docs/gpu.md", python = null, json = null } = values;
  const devices = (values.device ?? "webgpu,vulkan").split(",");
  const minutes = Number(values.minutes ?? 25);
  if (Deno.env.get(IN_PROCESS) === "1") {
    const tell = (line: string) => console.error(line);
    const progress = (found: CampaignResult) => console.log(JSON.stringify(found));
    await campaign({ device: devices[0]!, python, minutes, parts: args, tell, progress });
    return;
  }
  // Before anything is measured.
  check({ parts: args, minutes });
  await Deno.readTextFile(page);
  const all = new Map<string, CampaignResult>();
  let failed = 0;
  for (const [i, device] of devices.entries()) {
    console.error(device);
    const share = minutes / devices.length;
    const ended = await measuredInProcess(
      import.meta.filename!,
      [
        "--device",
        device,
        "--minutes",
        `${share}`,
        // Once is enough: it is the same card.
        ...(python !== null && i === 0 ? ["--python", python] : []),
        ...args,
      ],
      async (found) => {
        all.set(device, found);
        await writeFileAtomic(page, withCard(await Deno.readTextFile(page), found));
        if (json !== null) {
          await writeFileAtomic(json, JSON.stringify([...all.values()], null, 1) + "\n");
        }
      },
      // By itself it ends soon after its time; programs in Python may have two minutes more.
      AbortSignal.timeout((1.1 * share + 2.5) * 60_000),
    );
    if (ended !== null) {
      failed++;
      console.error(`${device}: ${ended}`);
    }
    console.error(all.has(device) ? `written: ${page}` : `nothing was found of ${device}`);
  }
  if (failed > 0) Deno.exit(1);
}
