/** The campaign runs, on a software adapter, so that it works on the day when a card is there. */
import assert from "node:assert/strict";
import { webgpuTest } from "../kernels/devices/webgpu/testing.ts";
import { decodeJob } from "../kernels/tuning/worker.ts";
import { withCard } from "./gpu/page.ts";
import { campaign, type CampaignOptions, PARTS } from "./gpu_campaign.ts";

/** A tuner that measures nothing: tune_call_test.ts measures kernels. */
const command = ["sh", "-c", `cat > /dev/null; echo '{"event":"done"}'`];
const OPTIONS: CampaignOptions = {
  device: "webgpu",
  python: null,
  minutes: 10,
  parts: [],
  tell: () => {},
  tuner: { cache: null, command },
};

webgpuTest("a campaign measures all of its parts, and writes the card's section", async () => {
  const begun: string[] = [], job = await Deno.makeTempFile();
  const found = await campaign({
    ...OPTIONS,
    // It also keeps what it was asked.
    tuner: { cache: null, command: ["sh", "-c", `cat > "$0"; echo '{"event":"done"}'`, job] },
    python: "/no/such/python",
    tell: (line) => begun.push(line.split(": ")[1]!),
  });
  assert.deepEqual(found.left, []);
  assert.deepEqual(begun, [...PARTS]);
  const { conformance, tuning, products, stored, memory, transfers, decode, step } = found;
  assert.ok(conformance!.cases >= 5 && conformance!.left === 0);
  assert.deepEqual(conformance!.wrong, []);
  assert.ok(tuning!.left > 20, "the shapes of a step and of decoding");
  const { calls } = decodeJob(await Deno.readTextFile(job));
  await Deno.remove(job);
  const tuned = new Set(calls.map(({ computeDtype }) => computeDtype));
  assert.deepEqual(tuned, new Set(["float32", "bfloat16", "float16"]), "kernels for all types");
  assert.deepEqual(products!.map(({ type }) => type), ["float32", "bfloat16", "float16"]);
  const speeds = [
    ...[...products!, ...stored!].map(({ tflops }) => tflops),
    ...Object.values(memory!).map(({ gb_per_s }) => gb_per_s),
    ...Object.values(transfers!),
    ...decode!.map((row) => row.tokens_per_s),
    ...[step!.seconds, step!.peak_bytes, step!.planned_bytes, step!.read_bytes],
  ];
  assert.ok(speeds.every((speed) => speed > 0 && Number.isFinite(speed)), speeds.join());
  assert.ok(step!.peak_bytes < 2 * step!.planned_bytes);
  assert.match(String(found.torch), /torch_products\.py did not run/);
  assert.match(String(found.peer), /hf_grpo_step\.py did not run/);

  const page = withCard("# Cards\n\nAbout them.\n\n## First\n\nText.\n", found);
  assert.match(page, /## First\n\nText\.\n\n## Measured: .*, webgpu\n\n_20/);
  assert.match(page, /A CPU emulates this card: its times say nothing/);
  assert.match(page, /\| 64 cubed: 64 × 64 × 64 \| \d/);
  assert.match(page, /A GRPO step of 2 × 2 completions, 8 \+ 4 tokens/);
  assert.equal(withCard(page, found), page, "a second campaign replaces the section");
});

webgpuTest("without time, parts are left out and said", async () => {
  const found = await campaign({ ...OPTIONS, minutes: 1e-9, parts: ["products", "decode"] });
  assert.deepEqual(found.left, ["products (no time)", "decode (no time)"]);
  assert.match(
    withCard("# Cards\n", found),
    /Left out: products \(no time\); decode \(no time\)\./,
  );
});

Deno.test("a part that does not exist, or a device without a card, is refused", async () => {
  await assert.rejects(campaign({ ...OPTIONS, parts: ["speed"] }), /speed: the parts are conf/);
  await assert.rejects(campaign({ ...OPTIONS, minutes: 0 }), /--minutes 0: expected a number/);
  await assert.rejects(campaign({ ...OPTIONS, device: "reference" }), /measures a graphics card/);
});
