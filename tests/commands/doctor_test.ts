/** `rgx doctor`: the devices of this machine, and the cost of a model in other weight types. */
import assert from "node:assert/strict";
import { tryParts } from "../../cli/doctor/doctor_self.ts";
import { goldenPath } from "../golden.ts";
import { refuses, succeeds } from "../support.ts";

const TINY = goldenPath("models/tinystories-656k");

Deno.test("rgx doctor --json measures the devices of this machine", async () => {
  const { out } = await succeeds(["doctor", "--json"]);
  const report = JSON.parse(out);
  assert.ok(report.devices.length >= 2);
  for (const device of report.devices) {
    assert.ok(device.gflops > 0 && device.gbytes_per_second > 0, device.name);
  }
  const names = report.devices.map(({ name }: { name: string }) => name);
  assert.equal(names.includes("webgpu"), report.gpu_adapter !== null);
  if (report.gpu_adapter !== null) assert.ok(report.gpu_adapter.limits.maxBufferSize >= 2 ** 28);
  assert.ok(report.available_memory_bytes > 0);
  const { others_share: others, stolen_share: stolen } = report;
  if (Deno.build.os === "linux") assert.ok(stolen >= 0 && others >= stolen && others <= 1);
  else assert.deepEqual([others, stolen], [null, null]);
});

Deno.test("rgx doctor reports the weight types of a model, and the cost of other types", async () => {
  const flags = ["doctor", "--model", TINY, "--device", "wasm"];
  const { out } = await succeeds([...flags, "--json"]);
  const report = JSON.parse(out);
  assert.deepEqual([report.model, report.stored[0].type], [TINY, "f32"]);
  const four = report.held.find(({ how }: { how: string }) => how === "load_in_4bit: true");
  assert.ok(four.weight_error > 0.05 && four.bytes < 0.6 * report.held[0].bytes);
  const shown = await succeeds(flags);
  assert.match(shown.out, /load_in_4bit: true +1\.\d\d MB +\d\.\d+ %/);
});

Deno.test("rgx doctor refuses a model that does not exist, and a model together with a config", async () => {
  await refuses([
    [["doctor", "--model", "no/such"], "no/such"],
    [["doctor", "quickstart", "--model", TINY], "--model and the config quickstart"],
  ]);
});

Deno.test("rgx doctor --self says of each part that does not work what the program said", async () => {
  const says = 'console.error("internal error: Could not find constraint"); Deno.exit(1)';
  const parts = await tryParts([Deno.execPath(), "eval", says]);
  assert.ok(parts.length >= 15, `${parts.length} parts`);
  for (const { name, error } of parts) assert.match(error!, /constraint|expected|double/, name);
  assert.match(parts[0]!.error!, /^rgx init \.: internal error: Could not find constraint$/);
  await refuses([[["doctor", "quickstart", "--self"], "--self: it tries the program"]]);
});
