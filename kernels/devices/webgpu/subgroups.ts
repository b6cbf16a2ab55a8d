/**
 * Whether kernels can exchange values within subgroups on a device. What adapters and Deno say is
 * not enough (one names the feature and refuses the kernel, another the other way round), so a
 * small kernel is compiled and run, on a device of its own: a refusal ends it.
 */
import { messageOf } from "../../../core/errors.ts";
import { entryPoint } from "../../ops/common/wgsl/entry.ts";
import { kernel } from "../../ops/common/wgsl/kernel.ts";
import { GROUP } from "../../ops/common/wgsl/reduce.ts";
import { exchangeSteps, MIN_SUBGROUP } from "../../ops/common/wgsl/subgroups.ts";
import type { WebgpuDevice } from "./device.ts";

/** Number of invocations that share a sum, where a subgroup has as many. */
const LANES = 32;

/**
 * For each invocation: the sum of some mixed numbers, the size of its subgroup, its number there,
 * and the number of the invocation after it, around the subgroup.
 */
const probe = kernel({
  name: "subgroups",
  writes: "u32 found",
  code: `${
    entryPoint(GROUP, "subgroups").replace(") {", ", @builtin(subgroup_invocation_id) id: u32) {")
  }
  var sum = local * local % 97u;
  ${exchangeSteps("sum", 1, LANES).join("\n  ")}
  found[local] = sum;
  found[${GROUP}u + local] = subgroup_lanes;
  found[${2 * GROUP}u + local] = id;
  found[${3 * GROUP}u + local] = subgroupShuffle(local, (local + 1u) & (subgroup_lanes - 1u));
}`,
});

/** The size of the device's subgroups, or why kernels cannot use them. */
export type Subgroups = { lanes: number } | { reason: string };

/** @throws RgxError when the device cannot be opened */
export async function probeSubgroups(open: () => Promise<WebgpuDevice>): Promise<Subgroups> {
  const device = await open();
  try {
    if (!device.offersSubgroups) {
      const by = device.name === "webgpu"
        ? `Deno ${Deno.version.deno} or the driver`
        : "the driver";
      return { reason: `${by} does not offer them` };
    }
    const tensor = device.create("u32", 4 * GROUP, "subgroups");
    device.dispatch({ kernel: probe, buffers: { found: tensor }, groups: 1 });
    return judge(await device.read(tensor) as Uint32Array);
  } catch (error) {
    return { reason: messageOf(error).split("\n").map((line) => line.trim()).join(" ") };
  } finally {
    device.close();
  }
}

/** Whether the numbers of {@link probe} are what kernels rely on. */
export function judge(found: Uint32Array): Subgroups {
  const lanes = found[GROUP]!;
  if (lanes < MIN_SUBGROUP || lanes > GROUP || (lanes & (lanes - 1)) !== 0) {
    return { reason: `its subgroups have ${lanes} invocations` };
  }
  const summed = Math.min(LANES, lanes);
  for (let local = 0; local < GROUP; local++) {
    const first = local - local % summed;
    let sum = 0;
    for (let i = first; i < first + summed; i++) sum += i * i % 97;
    if (found[local] !== sum) {
      return { reason: `a sum is ${found[local]}, expected ${sum}` };
    }
    if (found[GROUP + local] !== lanes || found[2 * GROUP + local] !== local % lanes) {
      return { reason: "invocations are not in their subgroups by their numbers" };
    }
    const next = local - local % lanes + (local + 1) % lanes, given = found[3 * GROUP + local];
    if (given !== next) return { reason: `a neighbour gives ${given}, expected ${next}` };
  }
  return { lanes };
}
