/** The campaign runs, on a software adapter, so that it works on the day when a card is there. */
import assert from "node:assert/strict";
import { webgpuTest } from "../../kernels/devices/webgpu/testing.ts";
import { decodeJob } from "../../kernels/tuning/worker.ts";
import { type CampaignResult, goalLines, withCard } from "./page.ts";
import { type CampaignLine, measuredInProcess } from "./process.ts";
import { makeVisits, PARTS, type Visit, visitsOf } from "./visits.ts";
import { campaign, type CampaignOptions } from "./campaign.ts";

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
  const begun: string[] = [], lines: CampaignLine[] = [], job = await Deno.makeTempFile();
  const found = await campaign({
    ...OPTIONS,
    // It also keeps what it was asked.
    tuner: { cache: null, command: ["sh", "-c", `cat > "$0"; echo '{"event":"done"}'`, job] },
    python: "/no/such/python",
    tell: (line) => begun.push(line.split(": ")[1]!),
    progress: (line) => lines.push(line),
  });
  assert.deepEqual(found.left, []);
  assert.deepEqual(begun, [...PARTS]);
  assert.deepEqual(
    lines.map(({ event, part }) => `${part} ${event}`),
    PARTS.flatMap((part) => [`${part} begins`, `${part} ended`]),
    "what was found is told after each part",
  );
  const written = lines.flatMap((line) => line.event === "ended" ? [line.found] : []);
  assert.deepEqual({ ...written.at(-1), minutes: 0 }, { ...found, minutes: 0 });
  const { peaks, check } = found;
  assert.ok(check!.cases >= 3 && check!.left === 0 && check!.wrong.length === 0);
  assert.ok(peaks!.float32 > 0 && peaks!.copy > 0 && peaks!.matrix === null);
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

webgpuTest("what was found before is kept, and its kernels and figures are used", async () => {
  const kept = { kernel: "plain", ms: 1, rule: "vector", rule_ms: 2 };
  const tuning = { choices: { "matmul 1": kept }, bad: {}, measured: 1, known: 0, left: 0 };
  const found = await campaign({
    ...OPTIONS,
    python: "/no/such/python",
    parts: ["products"],
    before: { tuning: { ...tuning, waitedMs: 0, notes: [] }, torch: "measured", left: ["step"] },
  });
  assert.deepEqual([found.tuning!.choices["matmul 1"], found.torch], [kept, "measured"]);
  assert.deepEqual([found.left, found.products!.length], [["step"], 3]);
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

const STEP = { shape: "2 × 2", peak_bytes: 1, planned_bytes: 1, read_bytes: 1 };

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
    peaks: { float32: 60, matrix: 500, copy: 2600 },
    step: { ...STEP, seconds: 10, phases: { generate: 5 } },
    peer: { seconds: 30, phases: { generate: 20 } },
    decode: [{ ...row, gb_per_s: 1675, host_us_per_step: 1, dispatches_per_step: 1 }],
  });
  assert.match(
    page,
    /products in float32: 60 % of the peak \| 50 % of 67 TFLOP\/s \(data sheet\), /,
  );
  assert.match(page, /\), 56 % of 60\.0 TFLOP\/s \(measured\) \|/);
  assert.match(
    page,
    /50 % of the peak \| 30 % of 500\.0 TFLOP\/s of its matrix units \(measured\), 25 % of torch's /,
  );
  assert.match(page, /memory's bandwidth \| 50 % of 3350 GB\/s \(data sheet\), 64 % of 2600\.0 GB/);
  assert.match(page, /transformers and PEFT \| 3\.00 times as fast, generation 4\.00 times \|/);
  // A product that had no time has a dash.
  assert.match(page, /\| 4096 cubed: 4096 × 4096 × 4096 \| 33\.500 \| 150\.000 \| – \| 50\.0 \|/);
  const products = [{ ...product, type: "bfloat16" as const, tflops: 3 }];
  const other = withCard("# Cards\n", {
    ...CARD,
    card: "Some card",
    products,
    peaks: { float32: 20, matrix: null, copy: 100 },
  });
  assert.match(other, /products in float32: 60 % of the peak \| not measured \|/);
  assert.match(other, /on vulkan: 50 % of the peak \| 3\.00 TFLOP\/s without matrix units \|/);
  const unknown = { ...CARD, card: "Some card", products };
  assert.match(withCard("# Cards\n", unknown), /50 % of the peak \| the peak is not known \|/);
  assert.match(goalLines(unknown).join("\n"), /^Some card, vulkan:\n {2}products in float32/);
});

/** A program that measures parts in no time, but for those that `bad` has something else for. */
async function fakeScript(bad: Record<string, string>): Promise<string> {
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    script,
    `const [, device, , minutes, ...parts] = Deno.args, bad = ${JSON.stringify(bad)};
    const before = JSON.parse(Deno.readTextFileSync(Deno.env.get("RGX_CAMPAIGN_PROCESS")));
    const found = { left: [], ...before, device, torch: before?.torch ?? device };
    found.seen = [...before?.seen ?? [], ...parts];
    console.log("a driver's words");
    for (const part of parts) {
      console.log(JSON.stringify({ event: "begins", part, seconds: 0 }));
      const what = bad[device + " " + part];
      if (what === "hangs") await new Promise(() => setInterval(() => {}, 1000));
      if (what !== undefined) Deno.exit(3);
      console.log(JSON.stringify({ event: "ended", part, found }));
    }`,
  );
  return script;
}

Deno.test("a campaign measures the goals on each device first, and goes on after a crash", async () => {
  const visits = visitsOf(["webgpu", "vulkan"], ["check", "peaks", "step", "memory", "transfers"]);
  const of = (device: string, ...parts: string[]) => ({ device, parts } as unknown as Visit);
  assert.deepEqual(visits, [
    of("webgpu", "check", "peaks", "step"),
    of("vulkan", "check", "peaks", "step"),
    of("webgpu", "memory", "transfers"),
    of("vulkan", "memory", "transfers"),
  ]);
  const script = await fakeScript({
    "webgpu peaks": "exits",
    "vulkan check": "exits",
    "vulkan memory": "exits",
  });
  const found = new Map<string, CampaignResult & { seen?: string[] }>(), lefts: string[][] = [];
  const told: string[] = [];
  const isWhole = await makeVisits(visits, {
    script,
    args: [],
    minutes: 1,
    tell: (line) => told.push(line),
    on: (result) => {
      found.set(result.device, result);
      lefts.push(result.left);
      return Promise.resolve();
    },
  });
  await Deno.remove(script);
  assert.equal(isWhole, false);
  assert.deepEqual(
    lefts[0],
    ["peaks", "step", "memory", "transfers"].map((part) => `${part} (not reached)`),
  );
  const ended = "its process ended with code 3";
  assert.deepEqual(found.get("webgpu")!.left, [`peaks (${ended})`]);
  assert.deepEqual(found.get("vulkan")!.left, [`check (${ended})`, `memory (${ended})`]);
  assert.ok(told.includes(`webgpu, peaks: ${ended}`), told.join("\n"));
  // Another process went on with what was found, and programs in Python are not run twice.
  assert.deepEqual(
    found.get("webgpu")!.seen,
    ["check", "peaks", "step", "step", "memory", "transfers"],
  );
  assert.equal(found.get("vulkan")!.torch, "webgpu");
});

Deno.test("a process that hangs is ended, and what it found is kept", async () => {
  const script = await fakeScript({ "webgpu step": "hangs" }), ended: string[] = [];
  const why = await measuredInProcess(script, [
    "--device",
    "webgpu",
    "--minutes",
    "1",
    "check",
    "step",
  ], {
    before: null,
    graceMs: 300,
    on: ({ event, part }) => {
      if (event === "ended") ended.push(part);
      return Promise.resolve();
    },
  });
  await Deno.remove(script);
  assert.match(why!, /longer than its time/);
  assert.deepEqual(ended, ["check"]);
});

Deno.test("a part that does not exist, or a device without a card, is refused", async () => {
  await assert.rejects(campaign({ ...OPTIONS, parts: ["speed"] }), /speed: the parts are check/);
  await assert.rejects(campaign({ ...OPTIONS, minutes: 0 }), /--minutes 0: expected a number/);
  await assert.rejects(campaign({ ...OPTIONS, device: "reference" }), /measures a graphics card/);
});
