/**
 * Measures a card in this process: the parts of a campaign, one after the other, each within its
 * share of the time.
 */
import { messageOf, UsageError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { createDevice } from "../../kernels/mod.ts";
import { measurableOn } from "../../kernels/tuning/kept_choices.ts";
import { sampleCalls } from "../../kernels/tuning/sample_calls.ts";
import { tune } from "../../kernels/tuning/tuner.ts";
import { conformance } from "./conformance.ts";
import { memory, products, rehearsedProducts, stored, storedRows } from "./kernels.ts";
import { decode, rehearsedStep, step } from "./model.ts";
import type { CampaignResult } from "./page.ts";
import { peaks } from "./peaks.ts";
import { peerProducts, peerStep } from "./peers.ts";
import type { CampaignLine } from "./process.ts";
import { CARD, type Sizes, SOFTWARE } from "./sizes.ts";
import { transfers } from "./transfers.ts";
import { type Part, PARTS, sharesOf } from "./visits.ts";

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

/** Measures the parts on a device, in this process. */
export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  checkCampaign(options);
  const begin = performance.now();
  const device = await openDevice(options.device, choicesOf(options.before?.tuning));
  let running: Campaign;
  try {
    running = new Campaign(options, device, begin);
  } catch (error) {
    device.close();
    throw error;
  }
  return await running.measureAll();
}

/** @throws UsageError for a part that does not exist, or no time */
export function checkCampaign(
  { parts, minutes }: Pick<CampaignOptions, "parts" | "minutes">,
): void {
  const unknown = parts.find((part) => !(PARTS as readonly string[]).includes(part));
  if (unknown !== undefined) {
    throw new UsageError(`${unknown}: the parts are ${PARTS.join(", ")}`);
  }
  if (!(minutes > 0)) throw new UsageError(`--minutes ${minutes}: expected a number above 0`);
}

type KernelChoices = WebgpuDevice["kernelChoices"];

async function openDevice(name: string, choices: KernelChoices): Promise<WebgpuDevice> {
  const device = await createDevice(name) as WebgpuDevice;
  device.kernelChoices = choices;
  return device;
}

const choicesOf = (tuning: CampaignResult["tuning"]) =>
  Object.fromEntries(
    Object.entries(tuning?.choices ?? {}).map(([name, { kernel }]) => [name, kernel]),
  );

class Campaign {
  readonly #sizes: Sizes;
  readonly #isSoftware: boolean;
  /** The card and driver, as the tuner names them. */
  readonly #about: ReturnType<typeof measurableOn>;
  /** What was found, before and now. */
  readonly #found: CampaignResult;
  /** Minutes of campaigns before this one. */
  readonly #minutesBefore: number;
  /** The parts that are not measured yet. */
  readonly #ahead: Part[];
  #device: WebgpuDevice;
  #kernelChoices: KernelChoices;

  /**
   * @param device it is closed at the end, or by who opened it when this throws
   * @param begin as of performance.now()
   */
  constructor(
    private readonly options: CampaignOptions,
    device: WebgpuDevice,
    private readonly begin: number,
  ) {
    const { adapter, kernelChoices } = device, { before = null, parts } = options;
    if (adapter === undefined) {
      throw new UsageError(`--device ${options.device}: a campaign measures a graphics card`);
    }
    this.#device = device;
    this.#kernelChoices = kernelChoices;
    this.#sizes = adapter.software ? SOFTWARE : CARD;
    this.#isSoftware = adapter.software;
    this.#about = measurableOn(device.name, adapter);
    this.#minutesBefore = before?.minutes ?? 0;
    this.#ahead = PARTS.filter((part) => parts.length === 0 || parts.includes(part));
    this.#found = {
      left: [],
      ...before,
      card: adapter.name,
      device: device.name,
      driver: this.#about.driver,
      software: adapter.software,
      deno: Deno.version.deno,
      rgx: VERSION,
      date: new Date().toISOString().slice(0, 10),
      minutes: this.#minutesBefore,
    };
  }

  async measureAll(): Promise<CampaignResult> {
    try {
      while (this.#ahead.length > 0) await this.#measureNext();
    } finally {
      this.#device.close();
    }
    return this.#found;
  }

  /** A part fails alone: a lost device is opened again for the next one. */
  async #measureNext(): Promise<void> {
    const spent = performance.now() - this.begin, limit = this.options.minutes * 60_000;
    const all = sharesOf(this.#ahead), part = this.#ahead.shift()!, { left } = this.#found;
    let isSpoilt = false;
    if (spent > limit) left.push(`${part} (no time)`);
    else {
      const ms = (limit - spent) * sharesOf([part]) / all;
      this.options.tell(`${(this.#minutesBefore + spent / 60_000).toFixed(1)} min: ${part}`);
      this.options.progress?.({ event: "begins", part, seconds: ms / 1000 });
      try {
        const leftOut = await this.#parts[part](this.begin + spent + ms);
        if (leftOut !== undefined) left.push(`${part} (${leftOut})`);
      } catch (error) {
        const reason = messageOf(error).split("\n")[0]!;
        this.options.tell(`${part} failed: ${reason}`);
        left.push(`${part} (${reason})`);
        isSpoilt = true;
      }
    }
    this.#found.minutes = this.#minutesBefore + (performance.now() - this.begin) / 60_000;
    // Before the device is opened again, which may fail.
    this.options.progress?.({ event: "ended", part, found: { ...this.#found, left: [...left] } });
    if (!isSpoilt) return;
    this.#device.close();
    this.#device = await this.#open();
  }

  /**
   * How each part is measured. It ends soon after its deadline, as of performance.now(), and says
   * what it left out.
   */
  readonly #parts: Readonly<Record<Part, (deadline: number) => Promise<string | void>>> = {
    check: async (deadline) => {
      this.#found.check = await conformance(this.#open, this.#sizes.check, deadline);
    },
    tuning: (deadline) => this.#tune(deadline),
    peaks: async () => {
      this.#found.peaks = await peaks(this.#device, this.#sizes);
    },
    products: async (deadline) => {
      const found = this.#found, sizes = this.#sizes, { python } = this.options;
      found.products = await products(this.#device, sizes, this.#beside(deadline, found.torch));
      if (python !== null) found.torch ??= await peerProducts(python, sizes, deadline);
      return without(found.products, 3 * sizes.products.length);
    },
    decode: async (deadline) => {
      const rows = this.#found.decode = await decode(this.#device, this.#sizes, deadline);
      return without(rows, this.#sizes.branches.length);
    },
    step: async (deadline) => {
      const found = this.#found, sizes = this.#sizes, { python } = this.options;
      found.step = await step(this.#device, sizes, this.#beside(deadline, found.peer));
      if (python !== null) found.peer ??= await peerStep(python, sizes, deadline);
    },
    stored: async (deadline) => {
      const rows = this.#found.stored = await stored(this.#device, this.#sizes, deadline);
      return without(rows, storedRows(this.#sizes));
    },
    memory: async () => {
      this.#found.memory = await memory(this.#device, this.#sizes);
    },
    transfers: async () => {
      this.#found.transfers = await transfers(this.#device, this.#sizes);
    },
    conformance: async (deadline) => {
      this.#found.conformance = await conformance(this.#open, this.#sizes.conformance, deadline);
    },
  };

  readonly #open = () => openDevice(this.options.device, this.#kernelChoices);

  /** Measures kernels for the calls of a step and of decoding, and takes the fastest. */
  async #tune(deadline: number): Promise<void> {
    const device = this.#device, sizes = this.#sizes;
    const calls = [
      ...await rehearsedStep(device, sizes),
      ...await rehearsedProducts(device, sizes),
      ...await sampleCalls(device, this.#isSoftware),
    ];
    const byClass = new Map(calls.map((call) => [call.class, call]));
    const tuning = await tune([...byClass.values()], {
      about: this.#about,
      card: device.card ?? null,
      budgetMs: Math.max(0, deadline - performance.now()),
      ...this.options.tuner,
    });
    this.#found.tuning = tuning;
    device.kernelChoices = this.#kernelChoices = choicesOf(tuning);
  }

  /** The deadline of rgx's half of a part; a peer has the other half, if it is measured. */
  #beside(deadline: number, peer: unknown): number {
    const isAlone = this.options.python === null || peer !== undefined;
    return isAlone ? deadline : (performance.now() + deadline) / 2;
  }
}

/** What a part says that had no time for all of its rows. */
function without(rows: readonly unknown[], all: number): string | undefined {
  return rows.length === all ? undefined : `no time for ${all - rows.length} of ${all} rows`;
}
