/** The GPU device on Deno's WebGPU. */
import { createWebgpuDevice } from "./device.ts";
import { testGpuDevice } from "./device_testing.ts";
import { webgpuTest } from "./testing.ts";

testGpuDevice((name, body, options = {}) =>
  webgpuTest(name, async () => {
    using device = await createWebgpuDevice(options);
    await body(device);
  })
);
