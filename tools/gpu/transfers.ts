/** What the host costs: a dispatch, and bytes over the bus in both directions. */
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { median } from "./clock.ts";
import type { Sizes } from "./sizes.ts";

export interface Transfers {
  /** Microseconds of the host for one dispatch, and of the card for an empty one. */
  dispatch_us: number;
  empty_dispatch_us: number;
  /** GB/s to the card and from it. */
  to_card: number;
  from_card: number;
  /** Microseconds to read four bytes. */
  look_us: number;
}

const REPEATS = 5;

export async function transfers(
  device: WebgpuDevice,
  { block, dispatches }: Sizes,
): Promise<Transfers> {
  const tensor = device.create("float", block, "block"), data = new Float32Array(block);
  const small = device.create("float", 64, "small");
  const wait = () => device.read(small, 0, 1);
  const seconds = async (work: () => Promise<unknown>) => {
    const times: number[] = [];
    for (let i = 0; i < REPEATS; i++) {
      await wait();
      const start = performance.now();
      await work();
      times.push((performance.now() - start) / 1000);
    }
    return median(times);
  };
  let host = 0;
  const dispatching = await seconds(async () => {
    const start = performance.now();
    for (let i = 0; i < dispatches; i++) device.run("fill", { out: small, n: 64, value: i });
    host = (performance.now() - start) / 1000;
    await wait();
  });
  const look = await seconds(wait);
  const up = await seconds(() => {
    device.write(tensor, data);
    return device.read(tensor, 0, 1);
  });
  const down = await seconds(() => device.read(tensor));
  for (const each of [tensor, small]) device.free(each);
  return {
    dispatch_us: 1e6 * host / dispatches,
    empty_dispatch_us: 1e6 * dispatching / dispatches,
    to_card: 4 * block / up / 1e9,
    from_card: 4 * block / down / 1e9,
    look_us: 1e6 * look,
  };
}
