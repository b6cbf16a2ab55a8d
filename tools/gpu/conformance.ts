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
 * @param deadline no case begins later, as of performance.now(); each table has a share until then
 */
export async function conformance(
  open: () => Promise<Device>,
  which: Sizes["conformance"],
  deadline: number,
): Promise<Conformance> {
  const found: Conformance = { cases: 0, left: 0, wrong: [] };
  let device = await open(), number = 0;
  try {
    const tables = TABLES.filter(([name]) => which.tables?.includes(name) ?? true);
    for (const [t, [name, make]] of tables.entries()) {
      // What a table leaves of its share goes to those after it: each gets some time.
      const now = performance.now(), until = now + (deadline - now) / (tables.length - t);
      const cases = await (BRIEF.get(name) ?? make)();
      for (const test of cases) {
        if (number++ % which.every !== 0) continue;
        if (performance.now() > until) {
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
