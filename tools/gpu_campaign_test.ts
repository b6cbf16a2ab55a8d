/** The campaign runs, on a software adapter, so that it works on the day when a card is there. */
import assert from "node:assert/strict";
import { webgpuTest } from "../kernels/devices/webgpu/testing.ts";
import { decodeJob } from "../kernels/tuning/worker.ts";
import { type CampaignResult, withCard } from "./gpu/page.ts";
import { measuredInProcess } from "./gpu/process.ts";
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
  const begun: string[] = [], written: CampaignResult[] = [], job = await Deno.makeTempFile();
  const found = await campaign({
    ...OPTIONS,
    // It also keeps what it was asked.
    tuner: { cache: null, command: ["sh", "-c", `cat > "$0"; echo '{"event":"done"}'`, job] },
    python: "/no/such/python",
    tell: (line) => begun.push(line.split(": ")[1]!),
    progress: (result) => written.push(result),
  });
  assert.deepEqual(found.left, []);
  assert.deepEqual(begun, [...PARTS]);
  assert.equal(written.length, PARTS.length, "what was found is told after each part");
  assert.ok(written[0]!.conformance !== undefined && written[0]!.products === undefined);
  assert.deepEqual(written[0]!.left, PARTS.slice(1).map((part) => `${part} (not reached)`));
  assert.deepEqual({ ...written.at(-1), minutes: 0 }, { ...found, minutes: 0 });
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
    step!.seconds,
    step!.peak_bytes,
    step!.planned_bytes,
    step!.read_bytes,
  ];
  assert.ok(speeds.every((speed) => speed > 0 && Number.isFinite(speed)), speeds.join());
  assert.ok(step!.peak_bytes < 2 * step!.planned_bytes);
  assert.match(String(found.torch), /torch_products\.py did not run/);
  assert.match(String(found.peer), /hf_grpo_step\.py did not run/);

  const page = withCard("# Cards\n\nAbout them.\n\n## First\n\nText.\n", found);
  assert.match(page, /## First\n\nText\.\n\n## Measured: .*, webgpu\n\n_20/);
  assert.match(page, /A CPU emulates this card: its times say nothing/);
  assert.match(page, /\| 64 cubed: 64 × 64 × 64 \| \d/);
  assert.match(page, /A GRPO step of 2 × 2 completions, 8 \+ 4 tokens, hidden size 32, 1 layer:/);
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

const CARD: CampaignResult = {
  card: "NVIDIA H100 80GB HBM3",
  device: "vulkan",
  driver: "NVIDIA 550.54",
  software: false,
  deno: "2.9.6",
  rgx: "0.1.0",
  date: "2026-11-23",
  minutes: 12.5,
  left: [],
};

Deno.test("the section of a card begins with the goals", () => {
  const product = { what: "4096 cubed", m: 4096, n: 4096, k: 4096, ms: 1 };
  const row = { branches: 64, tokens_per_s: 1, ms_per_step: 1, submits: 1 };
  const torch = { what: "4096 cubed", float32: 50, tfloat32: 300, float16: 700, bfloat16: 600 };
  const page = withCard("# Cards\n", {
    ...CARD,
    products: [
      { ...product, type: "float32", tflops: 33.5 },
      { ...product, type: "bfloat16", tflops: 150 },
    ],
    torch: [torch],
    decode: [{ ...row, gb_per_s: 1675, host_us_per_step: 1, dispatches_per_step: 1 }],
  });
  assert.match(page, /products in float32: 60 % of the peak \| 50 % \|/);
  assert.match(page, /products in bfloat16: half of torch's speed \| 25 % \|/);
  assert.match(page, /decoding: 40 % of the memory's bandwidth \| 50 % \|/);
  assert.match(page, /a GRPO step: faster than transformers and PEFT \| not measured \|/);
  // A product that had no time has a dash.
  assert.match(page, /\| 4096 cubed: 4096 × 4096 × 4096 \| 33\.500 \| 150\.000 \| – \| 50\.0 \|/);
  const other = withCard("# Cards\n", { ...CARD, card: "Some card", products: [] });
  assert.match(other, /60 % of the peak \| the card's peak is not known \|/);
});

Deno.test("a process that hangs is ended, and what it found is kept", async () => {
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  const part = (minutes: number) => JSON.stringify({ ...CARD, minutes });
  await Deno.writeTextFile(
    script,
    `console.log("a driver's words"); console.log(${JSON.stringify(part(1))});
    console.log(${JSON.stringify(part(2))}); setInterval(() => {}, 1000);`,
  );
  const found: number[] = [], clock = new AbortController();
  const on = ({ minutes }: CampaignResult) => {
    found.push(minutes);
    if (minutes === 2) clock.abort();
    return Promise.resolve();
  };
  const ended = await measuredInProcess(script, [], on, clock.signal);
  assert.match(ended!, /longer than its time/);
  assert.equal(found.at(-1), 2);
  await Deno.writeTextFile(script, `console.log(${JSON.stringify(part(3))}); Deno.exit(3);`);
  const never = new AbortController().signal;
  assert.equal(await measuredInProcess(script, [], on, never), "its process ended with code 3");
  assert.equal(found.at(-1), 3);
  await Deno.remove(script);
});

Deno.test("a part that does not exist, or a device without a card, is refused", async () => {
  await assert.rejects(campaign({ ...OPTIONS, parts: ["speed"] }), /speed: the parts are conf/);
  await assert.rejects(campaign({ ...OPTIONS, minutes: 0 }), /--minutes 0: expected a number/);
  await assert.rejects(campaign({ ...OPTIONS, device: "reference" }), /measures a graphics card/);
});
