/** The parts of a campaign: each measures one thing, in a process of its own, on one device. */
import { messageOf, UsageError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import { isForCards } from "../../kernels/conformance/cases/matmul_testing.ts";
import { type Case, checkCase } from "../../kernels/conformance/runner_testing.ts";
import { BRIEF, CARD_TABLES } from "../../kernels/conformance/tables_testing.ts";
import type { Device } from "../../kernels/device.ts";
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { createDevice } from "../../kernels/mod.ts";
import { measurableOn } from "../../kernels/tuning/kept_choices.ts";
import { tune, type Tuned } from "../../kernels/tuning/tuner.ts";
import { decode, rehearsedStep, step } from "./model.ts";
import type { CampaignResult } from "./page.ts";
import { CARD, SOFTWARE } from "./sizes.ts";
import { bus, products, rehearsedProducts, TYPES } from "./speed.ts";

/** Parts in their order, and what each may take of the time beside the parts after it. */
export const SHARES = {
  tuning: 6,
  products: 3,
  decode: 2,
  step: 3,
  /** Programs in Python, on no device of ours. */
  peers: 3,
  bus: 0.5,
  conformance: 7,
} as const;

export type Part = keyof typeof SHARES;

export const PARTS = Object.keys(SHARES) as readonly Part[];

export interface PartJob {
  device: string;
  part: Exclude<Part, "peers">;
  seconds: number;
  /** What the tuner found on this device before. */
  tuning: Tuned | null;
}

export interface PartOptions {
  /** Called with what is known of the card, as soon as it is open. */
  onOpen?: (about: CampaignResult) => void;
  /** Of the tuner: its cache folder and program (tests). */
  tuner?: { cache: string | null; command?: readonly string[] };
}

/** Measures a part. It ends soon after its time, and says in `left` what it left out. */
export async function measurePart(
  { device: name, part, seconds, tuning }: PartJob,
  { onOpen, tuner }: PartOptions = {},
): Promise<Partial<CampaignResult>> {
  const kernelChoices = Object.fromEntries(
    Object.entries(tuning?.choices ?? {}).map(([name, { kernel }]) => [name, kernel]),
  );
  const open = async () =>
    Object.assign(await createDevice(name) as WebgpuDevice, { kernelChoices });
  const deadline = performance.now() + 1000 * seconds;
  const device = await open(), { adapter } = device;
  try {
    if (adapter === undefined) {
      throw new UsageError(`--device ${name}: a campaign measures a graphics card`);
    }
    const about = measurableOn(device.name, adapter), isSoftware = adapter.software;
    const sizes = isSoftware ? SOFTWARE : CARD;
    onOpen?.({
      card: adapter.name,
      device: device.name,
      driver: about.driver,
      software: isSoftware,
      deno: Deno.version.deno,
      rgx: VERSION,
      date: new Date().toISOString().slice(0, 10),
      minutes: 0,
      left: [],
    });
    switch (part) {
      case "tuning": {
        const calls = [
          ...await rehearsedStep(device, sizes),
          ...await rehearsedProducts(device, sizes),
        ];
        const byClass = new Map(calls.map((call) => [call.class, call]));
        const budgetMs = Math.max(0, deadline - performance.now());
        const card = device.card ?? null;
        return { tuning: await tune([...byClass.values()], { about, card, budgetMs, ...tuner }) };
      }
      case "products": {
        const rows = await products(device, sizes, deadline);
        return { products: rows, left: without(part, rows, TYPES.length * sizes.products.length) };
      }
      case "decode": {
        const rows = await decode(device, sizes, deadline);
        return { decode: rows, left: without(part, rows, sizes.branches.length) };
      }
      case "step":
        return { step: await step(device, sizes, deadline) };
      case "bus":
        return { bus: await bus(device, sizes) };
      case "conformance":
        return { conformance: await conformance(device, open, sizes.conformance, deadline) };
    }
  } finally {
    device.close();
  }
}

/** What a part says that had no time for all of its rows. */
function without(part: Part, rows: readonly unknown[], all: number): string[] {
  const missing = all - rows.length;
  return missing === 0 ? [] : [`${part} (no time for ${missing} of ${all} rows)`];
}

/** Operations against the reference in float64. */
export interface Conformance {
  cases: number;
  /** Cases that were not run for lack of time. */
  left: number;
  /** The first line of what was wrong. */
  wrong: string[];
}

/** Every 16th case comes first, so a suite without time for all of them has seen all operations. */
const STRIDE = 16;

/**
 * @param tables their names; null: all
 * @param given the device of the first cases, which the caller closes
 * @param open opens another one after a failure, which may have spoilt the one before
 * @param deadline no case begins later, as of performance.now()
 */
async function conformance(
  given: Device,
  open: () => Promise<Device>,
  tables: readonly string[] | null,
  deadline: number,
): Promise<Conformance> {
  const chosen = CARD_TABLES.filter(([name]) => tables?.includes(name) ?? true);
  const cases: Case[] = [];
  for (const [name, make] of chosen) {
    const all = (await make()).filter(isForCards);
    cases.push(...await BRIEF.get(name)?.(all) ?? all);
  }
  const ordered = Array.from(
    { length: STRIDE },
    (_, start) => cases.filter((_, i) => i % STRIDE === start),
  ).flat();
  const found: Conformance = { cases: 0, left: 0, wrong: [] };
  let device = given;
  const close = () => device !== given && device.close();
  try {
    for (const test of ordered) {
      if (performance.now() > deadline) {
        found.left = ordered.length - found.cases;
        break;
      }
      found.cases++;
      try {
        await checkCase(device, test);
      } catch (error) {
        found.wrong.push(`${test.op} ${test.name}: ${messageOf(error).split("\n")[0]}`);
        close();
        device = await open();
      }
    }
  } finally {
    close();
  }
  return found;
}
