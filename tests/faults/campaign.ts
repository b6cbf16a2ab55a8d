/**
 * `deno task test:faults`: what goes wrong on real machines, tried on purpose (the page is
 * docs/reliability.md).
 *
 *     deno task test:faults                  all parts, in their long form (an hour and more)
 *     deno task test:faults --short disk     one part in the form that the tests run
 *     deno task test:faults --seed 2 readers
 *
 * It prints what was tried with counts, and each fault; the exit code is 1 if there is one. With
 * TMPDIR=/dev/shm its files are in memory, which spares the disk.
 */
import { withFolder } from "../../core/testing.ts";
import { disk } from "./disk.ts";
import { haul } from "./haul.ts";
import { processes } from "./processes.ts";
import { readers } from "./readers.ts";
import { stray } from "./stray.ts";

/** The parts by their names. */
export const PARTS: Readonly<Record<string, (campaign: Campaign) => Promise<void>>> = {
  stray,
  readers,
  processes,
  disk,
  haul,
};

/** What was tried, and the faults that were found. */
export class Campaign {
  readonly counts = new Map<string, number>();
  readonly faults: string[] = [];

  /** @param folder for files */
  constructor(readonly isShort: boolean, readonly seed: number, readonly folder: string) {}

  /** Counts what was tried. */
  tried(what: string, count = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + count);
  }

  /** Tries something, and notes as a fault what it throws. */
  async try(what: string, label: string, work: () => unknown): Promise<void> {
    this.tried(what);
    try {
      await work();
    } catch (error) {
      const text = error instanceof Error ? error.stack ?? error.message : String(error);
      this.faults.push(`${what}, ${label}: ${text.slice(0, 3000)}`);
      console.error(`FAULT ${this.faults.at(-1)}`);
    }
  }
}

/** A campaign in a folder of its own, which is removed afterwards. */
export async function withCampaign(
  isShort: boolean,
  seed: number,
  work: (campaign: Campaign) => Promise<void>,
): Promise<Campaign> {
  return await withFolder(async (folder) => {
    const campaign = new Campaign(isShort, seed, folder);
    await work(campaign);
    return campaign;
  });
}

async function main(): Promise<void> {
  const words = [...Deno.args], isShort = words.includes("--short");
  const at = words.indexOf("--seed"), seed = at < 0 ? 1 : Number(words.splice(at, 2)[1]);
  const names = words.filter((word) => word !== "--short");
  const unknown = names.find((name) => !(name in PARTS));
  if (unknown !== undefined || !Number.isInteger(seed)) {
    console.error(`error: ${unknown ?? "--seed"}: expected ${Object.keys(PARTS).join(", ")}`);
    Deno.exit(2);
  }
  const { counts, faults } = await withCampaign(isShort, seed, async (campaign) => {
    for (const name of names.length > 0 ? names : Object.keys(PARTS)) {
      const before = performance.now();
      await PARTS[name]!(campaign);
      console.error(`${name}: ${Math.round((performance.now() - before) / 1000)} s`);
    }
  });
  for (const [what, count] of counts) console.log(`${String(count).padStart(8)}  ${what}`);
  console.log(faults.length === 0 ? "no fault" : `${faults.length} faults`);
  Deno.exit(faults.length === 0 ? 0 : 1);
}

if (import.meta.main) await main();
