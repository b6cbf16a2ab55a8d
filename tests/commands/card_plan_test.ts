/** Plans for a card of another machine: `rgx train --dry-run --gpu`, `rgx doctor --plan`. */
import assert from "node:assert/strict";
import { argv } from "../command_line.ts";
import { refuses, rgx, succeeds } from "../support.ts";

const QWEN_7B = "leg_counting_qwen7b";

Deno.test("rgx train --dry-run --gpu plans memory, batch and time for a card that is not here", async () => {
  const flags = ["train", QWEN_7B, "--dry-run", "--device", "webgpu", "--gpu", "h100-80gb"];
  const { out, err } = await succeeds([...flags, "--json"]);
  assert.match(err, /planned for NVIDIA H100 SXM 80 GB: 77\.6 GB of its memory usable, 67 TFLOP/);
  assert.match(err, /weights +15\.2 GB +not trained, in bf16/);
  assert.match(err, /together +\d+\.\d GB +of 77\.6 GB/);
  assert.match(err, /fits, with .* to spare/);
  assert.match(err, /largest batch that fits: training\.per_device_train_batch_size=\d+ \(now 8\)/);
  assert.match(err, /time of a step[^]*time of the run[^]*not measured on a card/);
  assert.match(err, /dry run: nothing was written/);
  const summary = JSON.parse(out);
  assert.deepEqual([summary.status, summary.card.id], ["planned", "h100-80gb"]);
  assert.ok(summary.memory_planned_bytes < summary.memory_available_bytes);
  assert.ok(summary.estimated_seconds > summary.estimated_seconds_per_step);
});

Deno.test("rgx doctor --plan says on stdout whether a run fits, with exit code 1 when not", async () => {
  const fits = await succeeds(argv`doctor --plan ${QWEN_7B} training.max_steps=3 --gpu mi300x`);
  assert.match(fits.out, /memory plan[^]*fits, with[^]* 3 steps/);
  const small = argv`doctor --plan quickstart --device-memory 256MiB
    model.init.hidden_size=2048 model.init.num_attention_heads=32`;
  const unfit = await rgx(small);
  assert.equal(unfit.code, 1, unfit.err);
  assert.match(unfit.out, /does not fit\n\nfix: the run needs \d\.\d\d GB, 260 MB available/);
  const json = JSON.parse((await rgx([...small, "--json"])).out);
  assert.deepEqual([json.fits, json.misfits.length, json.card.memory_bytes], [false, 1, 2 ** 28]);
});

Deno.test("flags that do not go together, and unknown cards, are refused", async () => {
  const dry = ["train", QWEN_7B, "--dry-run"];
  await refuses([
    [[...dry, "--gpu", "h1000"], /unknown card, did you mean h100-80gb\?\nhelp: .*a100-40gb/],
    [[...dry, "--gpu", "h100", "--device", "wasm"], /--gpu plans for a graphics card, and .*wasm/],
    [[...dry, "--gpu", "h100", "--device-memory", "80GB"], /give one of them/],
    [[...dry, "--device-memory", "eighty"], /expected a size with its unit/],
    [[...dry, "--gpu", "h100", "--max-time", "5"], /--max-time 5: expected HH:MM:SS/],
    [[...dry, "--gpu", "h100", "--log-metrics", ","], /--log-metrics: no metric is named/],
    [["train", QWEN_7B, "--gpu", "h100"], /--gpu h100: only a plan .*\nhelp: Add --dry-run/],
    [["doctor", "--gpu", "h100"], /which configuration\?/],
    [["doctor", "--plan", "nosuch", "--gpu", "h100"], /no configuration "nosuch"/],
  ]);
});

Deno.test("a model of another family is planned, and a misspelt name gets a suggestion", async () => {
  const words = ["train", QWEN_7B, "--dry-run", "--gpu", "h100", "--model-name"];
  const planned = await succeeds([...words, "google/gemma-3-1b-it"]);
  assert.match(planned.err, /999\.9 M parameters/);
  const misspelt = [...words, "Qwen/Qwen2.5-72B-Instrct"];
  const says = /did you mean Qwen\/Qwen2\.5-72B-Instruct\?\nhelp: .*config\.json alone/;
  await refuses([[misspelt, says]]);
});

Deno.test("rgx doctor --plan --nodes --gpus plans several ranks, and how often to save", async () => {
  const args = ["doctor", "--plan", "leg_counting_qwen7b", "--gpu", "h100-80gb"];
  const wide = "training.gradient_accumulation_steps=8";
  const planned = await succeeds([...args, "--nodes", "2", "--gpus", "4", wide]);
  const rows = [
    /^8 ranks +2 nodes × 4 +one card each$/m,
    /^ {2}gradients +\d+ MB/m,
    /^ {2}together +[\d.]+ s +one rank: \d+ s$/m,
    /^speed +[\d.]+ × +efficiency \d+ %$/m,
    /^ {2}one in +132 days/m,
    /^ {2}save +every \d+ steps \(.*\) +loses 0\.\d+ %$/m,
  ];
  for (const row of rows) assert.match(planned.out, row);
  const json = await rgx(argv`doctor --plan quickstart --gpu h100-80gb --nodes 2 --gpus 2 --mtbf 1
    --json`);
  const { ranks } = JSON.parse(json.out);
  assert.deepEqual([ranks.ranks, ranks.save.mtbf_seconds], [4, 43_200]);
  assert.ok(ranks.efficiency > 0 && ranks.efficiency < 1, json.out);
  assert.ok(ranks.save.lost_with_recommended <= ranks.save.lost_with_configured);

  await refuses([
    [
      [...args, "--nodes", "2", "--gpus", "4"],
      /8 ranks share 4 prompts: 4 would have nothing to generate/,
      /Start 4 ranks, or raise the batch: .*gradient_accumulation_steps=8 gives/,
    ],
    [["doctor", "--plan", "quickstart", "--nodes", "2"]],
    [["doctor", "--plan", "quickstart", "--network", "100"]],
  ]);
});

Deno.test("a run that does not fit is told of 4 bits before shorter answers", async () => {
  const { code, err } = await rgx(argv`train gsm8k model.load_in_4bit=false --dry-run
    --device-memory 9.5GB`);
  assert.notEqual(code, 0, err);
  assert.match(
    err,
    /same step in 2 parts\) or model\.load_in_4bit=true or training\.max_completion_length=\d/,
  );
});
