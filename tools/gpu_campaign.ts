/**
 * `deno task gpu:campaign`: measures a card in 25 minutes and writes its section of docs/gpu.md:
 * conformance, the tuner, products (beside torch), kernels that memory limits, the bus, decoding,
 * and a GRPO step of Qwen2.5-0.5B's shape (beside transformers, PEFT). On a software adapter the
 * sizes are tiny, and the result only shows that the program works.
 *
 *     deno task gpu:campaign [--device webgpu,vulkan] [--python PATH] [--page docs/gpu.md]
 *                            [--minutes 25] [--json FILE] [part …]
 */
import { VERSION } from "../core/version.ts";
import { messageOf, UsageError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/atomic_file.ts";
import type { WebgpuDevice } from "../kernels/devices/webgpu/device.ts";
import { createDevice } from "../kernels/mod.ts";
import { measurableOn } from "../kernels/tuning/kept_choices.ts";
import { sampleCalls } from "../kernels/tuning/sample_calls.ts";
import { tune } from "../kernels/tuning/tuner.ts";
import { conformance } from "./gpu/conformance.ts";
import { memory, products, rehearsedProducts, stored } from "./gpu/kernels.ts";
import { decode, rehearsedStep, step } from "./gpu/model.ts";
import { type CampaignResult, withCard } from "./gpu/page.ts";
import { peerProducts, peerStep } from "./gpu/peers.ts";
import { CARD, type Sizes, SOFTWARE } from "./gpu/sizes.ts";
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
  /** Of the tuner: its cache folder and program (tests). */
  tuner?: { cache: string | null; command?: readonly string[] };
}

/** Shares of the time after which a part that goes on by itself ends. */
const CONFORMANCE_UNTIL = 0.35, TUNING_SHARE = 0.25;

export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const { device: name, python, tell } = options;
  const unknown = options.parts.find((part) => !(PARTS as readonly string[]).includes(part));
  if (unknown !== undefined || !(options.minutes > 0)) {
    throw new UsageError(
      unknown === undefined
        ? `--minutes ${options.minutes}: expected a number above 0`
        : `${unknown}: the parts are ${PARTS.join(", ")}`,
    );
  }
  const begin = performance.now(), limit = options.minutes * 60_000;
  const open = async () => await createDevice(name) as WebgpuDevice;
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
  /** A part fails alone: a lost device is opened again for the next one. */
  const part = async (what: typeof PARTS[number], work: () => Promise<void>) => {
    if (options.parts.length > 0 && !options.parts.includes(what)) return;
    const spent = performance.now() - begin;
    if (spent > limit) {
      found.left.push(`${what} (no time)`);
      return;
    }
    tell(`${(spent / 60_000).toFixed(1)} min: ${what}`);
    try {
      await work();
    } catch (error) {
      const reason = messageOf(error).split("\n")[0]!;
      tell(`${what} failed: ${reason}`);
      found.left.push(`${what} (${reason})`);
      device.close();
      device = await open();
    }
  };
  try {
    await part("conformance", async () => {
      const deadline = begin + CONFORMANCE_UNTIL * limit;
      found.conformance = await conformance(open, sizes.conformance, deadline);
    });
    await part("tuning", async () => {
      const calls = [
        ...await sampleCalls(device, adapter.software),
        ...await rehearsedProducts(device, sizes),
        ...await rehearsedStep(device, sizes),
      ];
      const byClass = new Map(calls.map((call) => [call.class, call]));
      found.tuning = await tune([...byClass.values()], {
        about,
        card: device.card ?? null,
        budgetMs: TUNING_SHARE * limit,
        ...options.tuner,
      });
      const chosen = Object.entries(found.tuning.choices);
      device.kernelChoices = Object.fromEntries(chosen.map(([key, { kernel }]) => [key, kernel]));
    });
    await part("products", async () => {
      found.products = await products(device, sizes);
      if (python !== null) found.torch = await peerProducts(python, sizes);
    });
    await part("stored", async () => {
      found.stored = await stored(device, sizes);
    });
    await part("memory", async () => {
      found.memory = await memory(device, sizes);
    });
    await part("transfers", async () => {
      found.transfers = await transfers(device, sizes);
    });
    await part("decode", async () => {
      found.decode = await decode(device, sizes);
    });
    await part("step", async () => {
      found.step = await step(device, sizes);
      if (python !== null) found.peer = await peerStep(python, sizes);
    });
  } finally {
    device.close();
  }
  found.minutes = (performance.now() - begin) / 60_000;
  return found;
}

/** The value of `--name VALUE`, which is taken out of the arguments. */
function flag(args: string[], name: string): string | null {
  const at = args.indexOf(`--${name}`);
  return at < 0 ? null : args.splice(at, 2)[1] ?? null;
}

if (import.meta.main) {
  await main().catch((error) => {
    console.error(`error: ${messageOf(error)}`);
    Deno.exit(1);
  });
}

async function main(): Promise<void> {
  const args = [...Deno.args];
  const page = flag(args, "page") ?? "docs/gpu.md", json = flag(args, "json");
  const devices = (flag(args, "device") ?? "webgpu,vulkan").split(",");
  const python = flag(args, "python"), minutes = Number(flag(args, "minutes") ?? 25);
  const all: CampaignResult[] = [];
  for (const [i, device] of devices.entries()) {
    console.error(device);
    const found = await campaign({
      device,
      // Once is enough: it is the same card.
      python: i === 0 ? python : null,
      minutes: minutes / devices.length,
      parts: args,
      tell: (line) => console.error(line),
    });
    all.push(found);
    await writeFileAtomic(page, withCard(await Deno.readTextFile(page), found));
    if (json !== null) await writeFileAtomic(json, JSON.stringify(all, null, 1) + "\n");
    console.error(`written: ${page}`);
  }
}
