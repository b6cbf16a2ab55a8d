/** Runs the conformance suite on a card: every operation against the reference in float64. */
import { messageOf } from "../../core/errors.ts";
import { checkCase } from "../../kernels/conformance/runner.ts";
import { BRIEF, TABLES } from "../../kernels/conformance/tables.ts";
import type { Sizes } from "./sizes.ts";
import type { Device } from "../../kernels/device.ts";

export interface Conformance {
  cases: number;
  /** Cases that were not run for lack of time. */
  left: number;
  /** The first line of what was wrong. */
  wrong: string[];
}

/**
 * @param which tables, and every n-th of their cases
 * @param open opens a device; again after a failure, which may have spoilt it
 * @param deadline no case begins later, as of performance.now()
 */
export async function conformance(
  open: () => Promise<Device>,
  which: Sizes["conformance"],
  deadline: number,
): Promise<Conformance> {
  const found: Conformance = { cases: 0, left: 0, wrong: [] };
  let device = await open(), number = 0;
  try {
    for (const [name, make] of TABLES) {
      if (!(which.tables?.includes(name) ?? true)) continue;
      const cases = await (BRIEF.get(name) ?? make)();
      for (const test of cases) {
        if (number++ % which.every !== 0) continue;
        if (performance.now() > deadline) {
          found.left++;
          continue;
        }
        found.cases++;
        try {
          await checkCase(device, test);
        } catch (error) {
          found.wrong.push(`${test.op} ${test.name}: ${messageOf(error).split("\n")[0]}`);
          device.close();
          device = await open();
        }
      }
    }
  } finally {
    device.close();
  }
  return found;
}
