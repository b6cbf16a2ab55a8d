/**
 * The order of a campaign: what is most valuable first, on each device, and then the rest. So a
 * campaign that is cut has the goals' figures of both devices.
 */
import type { CampaignResult } from "./page.ts";
import { type CampaignLine, measuredInProcess, type ProcessOptions } from "./process.ts";

/** Parts, and what each may take of the time beside the parts after it. */
const SHARES = {
  /** One case in 16 of all operations. */
  check: 1,
  tuning: 6,
  peaks: 0.5,
  products: 3,
  decode: 2,
  step: 4,
  stored: 1,
  memory: 1,
  transfers: 1,
  conformance: 7,
} as const;

export type Part = keyof typeof SHARES;

export const PARTS = Object.keys(SHARES) as readonly Part[];

/** The parts of the first visit of a device: whether it is right, and the goals. */
const FIRST: ReadonlySet<Part> = new Set(
  ["check", "tuning", "peaks", "products", "decode", "step"] as const,
);

export const sharesOf = (parts: readonly Part[]) =>
  parts.reduce((sum, part) => sum + SHARES[part], 0);

/** A process that measures parts on a device. */
export interface Visit {
  device: string;
  parts: Part[];
}

/** @param wanted the parts that are measured; none: all */
export function visitsOf(devices: readonly string[], wanted: readonly string[]): Visit[] {
  const chosen = PARTS.filter((part) => wanted.length === 0 || wanted.includes(part));
  return [true, false].flatMap((isFirst) =>
    devices.map((device) => ({
      device,
      parts: chosen.filter((part) => FIRST.has(part) === isFirst),
    }))
  ).filter(({ parts }) => parts.length > 0);
}

export interface VisitOptions {
  /** The program that measures. It is called with device, minutes, these arguments, and parts. */
  script: string;
  args: readonly string[];
  minutes: number;
  graceMs?: ProcessOptions["graceMs"];
  /** Called after each part with all that was found on a device. */
  on: (found: CampaignResult) => Promise<void>;
  /** Called with what a user should know. */
  tell: (line: string) => void;
}

/**
 * Makes the visits, one after the other; what one leaves of its time goes to those after it. A
 * part in which the process ends (a driver crashes or hangs) is left out, and another process goes
 * on with the part after it.
 * @returns whether all processes came to their ends
 */
export async function makeVisits(
  visits: readonly Visit[],
  { script, args, minutes, graceMs, on, tell }: VisitOptions,
): Promise<boolean> {
  const end = performance.now() + 60_000 * minutes, found = new Map<string, CampaignResult>();
  const closed = new Set<string>();
  /** Parts that failed before anything was found on their device. */
  const failed = new Map<string, string[]>();
  let isWhole = true;
  for (const [i, visit] of visits.entries()) {
    const { device } = visit;
    const later = visits.slice(i + 1);
    let parts = visit.parts;
    while (parts.length > 0 && !closed.has(device)) {
      tell(`${device}: ${parts.join(", ")}`);
      const weight = sharesOf(parts);
      const all = weight + later.reduce((sum, { parts }) => sum + sharesOf(parts), 0);
      const left = Math.max(0, end - performance.now()) / 60_000 * weight / all;
      let begun: Part | null = null, done = 0;
      const keep = async (result: CampaignResult) => {
        found.set(device, result);
        const ahead = [
          ...parts.slice(done),
          ...later.filter((next) => next.device === device).flatMap(({ parts }) => parts),
        ];
        await on({ ...result, left: [...result.left, ...ahead.map((p) => `${p} (not reached)`)] });
      };
      const hear = async (line: CampaignLine) => {
        begun = line.event === "begins" ? line.part as Part : null;
        if (line.event === "begins") return;
        done = parts.indexOf(line.part as Part) + 1;
        await keep(line.found);
      };
      const ended = await measuredInProcess(
        script,
        ["--device", device, "--minutes", `${left}`, ...args, ...parts],
        {
          before: {
            ...peersOf([...found.values()]),
            left: failed.get(device) ?? [],
            ...found.get(device),
          },
          on: hear,
          ...(graceMs === undefined ? {} : { graceMs }),
        },
      );
      if (ended === null) break;
      isWhole = false;
      tell(`${device}${begun === null ? "" : `, ${begun}`}: ${ended}`);
      const before = found.get(device);
      // Without a part it has not opened the device, and will not the next time either.
      if (begun === null && done === 0) closed.add(device);
      parts = parts.slice(begun === null ? done : parts.indexOf(begun) + 1);
      done = 0;
      if (begun === null) continue;
      const reason = `${begun as Part} (${ended})`;
      if (before !== undefined) await keep({ ...before, left: [...before.left, reason] });
      else failed.set(device, [...failed.get(device) ?? [], reason]);
    }
  }
  return isWhole;
}

/** What programs in Python have taken on this card, measured beside any device. */
function peersOf(found: readonly CampaignResult[]): Pick<CampaignResult, "torch" | "peer"> {
  const torch = found.find((result) => result.torch !== undefined)?.torch;
  const peer = found.find((result) => result.peer !== undefined)?.peer;
  return { ...(torch === undefined ? {} : { torch }), ...(peer === undefined ? {} : { peer }) };
}
