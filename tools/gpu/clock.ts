/** Times work of a device, with the time that the host waits for it. */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";

export const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/**
 * Median milliseconds of one call. Each run makes many calls and then reads one value of `out`,
 * which waits for all of them.
 */
export async function time(
  device: Device,
  budget: number,
  out: Tensor,
  call: () => void,
): Promise<number> {
  const once = async (calls: number) => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) call();
    await device.read(out, 0, 1);
    return (performance.now() - start) / calls;
  };
  await once(2);
  const estimate = await once(2);
  const calls = Math.max(1, Math.min(200, Math.round(budget / 10 / estimate)));
  const times: number[] = [];
  for (const end = performance.now() + budget; times.length < 3 || performance.now() < end;) {
    times.push(await once(calls));
  }
  return median(times);
}
