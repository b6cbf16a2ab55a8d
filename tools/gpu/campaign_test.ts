/** The campaign runs, on a software adapter, so that it works on the day when a card is there. */
import assert from "node:assert/strict";
import { webgpuTest } from "../../kernels/devices/webgpu/testing.ts";
import { decodeJob } from "../../kernels/tuning/worker.ts";
import { campaign, type CampaignOptions } from "../gpu_campaign.ts";
import { type CampaignResult, goalLines, withCard } from "./page.ts";
import { measurePart, PARTS } from "./parts.ts";
import { TYPES } from "./speed.ts";

webgpuTest("a campaign measures all of its parts, and writes the card's section", async () => {
  const job = await Deno.makeTempFile();
  // A tuner that measures nothing and keeps what it was asked: tune_call_test.ts measures kernels.
  const command = ["sh", "-c", `cat > "$0"; echo '{"event":"done"}'`, job];
  let found = {} as CampaignResult;
  for (const part of PARTS.filter((part) => part !== "peers")) {
    const tuning = found.tuning ?? null;
    const result = await measurePart({ device: "webgpu", part, seconds: 600, tuning }, {
      onOpen: (about) => found = { ...about, ...found },
      tuner: { cache: null, command },
    });
    found = { ...found, ...result, left: [...found.left, ...result.left ?? []] };
  }
  assert.deepEqual(found.left, []);
  const { conformance, tuning, products, bus, decode, step } = found;
  assert.ok(conformance!.cases >= 5 && conformance!.left === 0);
  assert.deepEqual(conformance!.wrong, []);
  assert.ok(tuning!.left > 20, "the shapes of a step and of decoding");
  const { calls } = decodeJob(await Deno.readTextFile(job));
  await Deno.remove(job);
  const tuned = new Set(calls.map(({ computeDtype }) => computeDtype));
  assert.deepEqual(tuned, new Set(["float32", "bfloat16", "float16"]), "kernels for all types");
  assert.deepEqual(products!.map(({ type }) => type), [...TYPES]);
  const speeds = [
    ...products!.map(({ tflops }) => tflops),
    ...Object.values(bus!),
    ...decode!.map((row) => row.tokens_per_s),
    step!.seconds,
    step!.peak_bytes,
    step!.planned_bytes,
    step!.read_bytes,
  ];
  assert.ok(speeds.every((speed) => speed > 0 && Number.isFinite(speed)), speeds.join());
  assert.ok(step!.peak_bytes < 2 * step!.planned_bytes);

  const page = withCard("# Cards\n\nAbout them.\n\n## First\n\nText.\n", found);
  assert.match(page, /## First\n\nText\.\n\n## Measured: .*, webgpu\n\n_20/);
  assert.match(page, /A CPU emulates this card: its times say nothing/);
  assert.match(page, /\| 64 cubed: 64 × 64 × 64 \| \d/);
  assert.match(page, /A GRPO step of 2 × 2 completions, 8 \+ 4 tokens, hidden size 32, 1 layer:/);
  assert.equal(withCard(page, found), page, "a second campaign replaces the section");
});

webgpuTest(
  "a part without time for its rows says so, and a device without a card is refused",
  async () => {
    const job = { part: "products", seconds: 1e-9, tuning: null } as const;
    const { products, left } = await measurePart({ ...job, device: "webgpu" });
    assert.deepEqual(products, []);
    assert.deepEqual(left, ["products (no time for 5 of 5 rows)"]);
    await assert.rejects(measurePart({ ...job, device: "reference" }), /measures a graphics card/);
  },
);

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
  const row = { branches: 64, tokens_per_s: 1, ms_per_step: 1, submits: 1, dispatches_per_step: 1 };
  const torch = { what: "4096 cubed", float32: 50, tfloat32: 300, float16: 700, bfloat16: 600 };
  const page = withCard("# Cards\n", {
    ...CARD,
    products: [
      { ...product, type: "float32", tflops: 33.5 },
      { ...product, type: "bfloat16", tflops: 150 },
    ],
    torch: [torch],
    bus: { copy: 2600, dispatch_us: 1, to_card: 1, from_card: 1, look_us: 1 },
    step: {
      shape: "2 × 2",
      peak_bytes: 1,
      planned_bytes: 1,
      read_bytes: 1,
      seconds: 10,
      phases: { generate: 5 },
    },
    peer: { seconds: 30, phases: { generate: 20 } },
    decode: [{ ...row, gb_per_s: 1675 }],
  });
  assert.match(
    page,
    /products in float32: 60 % of the peak \| 50 % of 67 TFLOP\/s \(data sheet\) \|/,
  );
  assert.match(page, /products in bfloat16, on vulkan \| 150\.00 TFLOP\/s, 25 % of torch's /);
  assert.match(page, /memory's bandwidth \| 50 % of 3350 GB\/s \(data sheet\), 64 % of 2600\.0 GB/);
  assert.match(page, /transformers and PEFT \| 3\.00 times as fast, generation 4\.00 times \|/);
  // A product that had no time has a dash.
  assert.match(
    page,
    /\| 4096 cubed: 4096 × 4096 × 4096 \| 33\.500 \| 150\.000 \| – \| – \| – \| 50\.0 \|/,
  );
  const products = [{ ...product, type: "bfloat16" as const, tflops: 3 }];
  const other = withCard("# Cards\n", {
    ...CARD,
    card: "Some card",
    products,
  });
  assert.match(other, /products in float32: 60 % of the peak \| not measured \|/);
  assert.match(other, /on vulkan \| 3\.00 TFLOP\/s \|/);
  const unknown = {
    ...CARD,
    card: "Some card",
    products: [{ ...products[0]!, type: "float32" as const }],
  };
  assert.match(withCard("# Cards\n", unknown), /60 % of the peak \| the peak is not known \|/);
  assert.match(goalLines(unknown).join("\n"), /^Some card, vulkan:\n {2}products in float32/);
});

const OPTIONS: CampaignOptions = {
  devices: ["webgpu", "vulkan"],
  parts: [],
  minutes: 1,
  python: null,
  graceMs: 20_000,
  tell: () => {},
  on: () => Promise.resolve(),
};

/** Measures parts in no time, but for those that `bad` has something else for. */
const fakeCommand = (bad: Record<string, string>) => [
  "bash",
  "-c",
  `job="$1"; about='{"found":{"device":"'$(sed 's/.*"device":"\\([a-z]*\\)".*/\\1/' <<<"$job")'"}}'
   echo "a driver's words"; echo "$about"
   case "$job" in ${
    Object.entries(bad).map(([key, what]) => {
      const [device, part] = key.split(" ");
      return `*'"device":"${device}","part":"${part}"'*) ${what};;`;
    }).join("\n")
  } esac
   echo '{"found":{"left":[]}}'`,
  "part",
];

Deno.test("a part that crashes, hangs or fails is named, and the others are measured", async () => {
  const found = new Map<string, CampaignResult>(), told: string[] = [];
  const isWhole = await campaign({
    ...OPTIONS,
    parts: ["tuning", "decode", "bus"],
    python: "/no/such/python",
    minutes: 0.02,
    graceMs: 500,
    command: fakeCommand({
      "webgpu tuning": "exit 3",
      "vulkan decode": "exec sleep 60",
      "vulkan bus": `echo '{"failed":"a lost device"}'; exit 0`,
    }),
    tell: (line) => told.push(line),
    on: (result) => Promise.resolve(void found.set(result.device, structuredClone(result))),
  });
  assert.equal(isWhole, false);
  assert.deepEqual(
    told.map((line) => line.replace(/^.*min: /, "")),
    [
      "webgpu, tuning",
      "webgpu, tuning: its process ended with code 3",
      "vulkan, tuning",
      "webgpu, decode",
      "vulkan, decode",
      "vulkan, decode: it took longer than its time, and was ended",
      "webgpu, bus",
      "vulkan, bus",
      "vulkan, bus: a lost device",
    ],
  );
  assert.deepEqual(found.get("webgpu")!.left, ["tuning (its process ended with code 3)"]);
  assert.deepEqual(found.get("vulkan")!.left, [
    "decode (it took longer than its time, and was ended)",
    "bus (a lost device)",
  ]);
});

Deno.test("programs in Python run once, and stand beside all devices", async () => {
  const found = new Map<string, CampaignResult>();
  const isWhole = await campaign({
    ...OPTIONS,
    parts: ["products", "peers"],
    python: "/no/such/python",
    command: fakeCommand({}),
    on: (result) => Promise.resolve(void found.set(result.device, structuredClone(result))),
  });
  assert.ok(isWhole);
  assert.deepEqual([...found.keys()], ["webgpu", "vulkan"]);
  for (const { torch, peer } of found.values()) {
    assert.match(String(torch), /torch_products\.py did not run/);
    assert.match(String(peer), /hf_grpo_step\.py did not run/);
  }
});

Deno.test("a part that does not exist, or no time, is refused", async () => {
  await assert.rejects(campaign({ ...OPTIONS, parts: ["speed"] }), /speed: the parts are tuning/);
  await assert.rejects(campaign({ ...OPTIONS, minutes: 0 }), /--minutes 0: expected a number/);
});
