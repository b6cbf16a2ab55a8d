/** The devices that the conformance suite holds against the float64 reference: one line each. */
import type { Device } from "../device.ts";
import { createReferenceDevice } from "../reference/device.ts";
import { createWasmDevice } from "../wasm/device.ts";

export interface DeviceUnderTest {
  name: string;
  create(): Device | Promise<Device>;
  /** Results must have the bits of the device listed under this name (the same with other threads). */
  sameBitsAs?: string;
}

export const DEVICES: readonly DeviceUnderTest[] = [
  { name: "reference (f32)", create: () => createReferenceDevice() },
  { name: "wasm, 1 thread", create: () => createWasmDevice({ threads: 1 }) },
  {
    name: "wasm, 2 threads",
    create: () => createWasmDevice({ threads: 2 }),
    sameBitsAs: "wasm, 1 thread",
  },
  {
    name: "wasm, 3 threads",
    create: () => createWasmDevice({ threads: 3 }),
    sameBitsAs: "wasm, 1 thread",
  },
];
