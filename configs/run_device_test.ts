import assert from "node:assert/strict";
import { deviceOfConfig } from "./rank_layout.ts";
import { errorsOf, load, MINIMAL } from "./testing.ts";

Deno.test("use_cpu takes the CPU where no device is named, and no_cuda is its older name", async () => {
  const forms: [yaml: string, overrides: string[], expected: boolean][] = [
    ["", [], false],
    ["use_cpu: true\n", [], true],
    ["training: {no_cuda: true}\n", [], true],
    ["", ["--use-cpu"], true],
    ["use_cpu: true\n", ["training.use_cpu=false"], false],
  ];
  for (const [yaml, overrides, expected] of forms) {
    const { config, notes } = await load(MINIMAL + yaml, { overrides });
    assert.deepEqual([config.training.use_cpu, notes], [expected, []], yaml + overrides);
    const device = expected ? "wasm" : undefined;
    assert.equal(deviceOfConfig(config.training, undefined), device);
  }
  assert.match((await errorsOf(`${MINIMAL}use_cpu: 3\n`))[0]!, /use_cpu: expected true or false/);
});

Deno.test("use_cpu beside the name of a device: a graphics card is one error, the CPU is kept", () => {
  const cpu = { use_cpu: true };
  for (const name of ["wasm", "reference"]) assert.equal(deviceOfConfig(cpu, name), name);
  assert.equal(deviceOfConfig(cpu, "auto"), "wasm");
  for (const name of ["webgpu", "webgpu:1", "vulkan"]) {
    assert.equal(deviceOfConfig({ use_cpu: false }, name), name);
    assert.throws(() => deviceOfConfig(cpu, name), {
      name: "UsageError",
      message: `--device ${name}: training.use_cpu is true, which asks for the CPU`,
    });
  }
});
