/** `rgx sweep`. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { exists } from "../../core/paths.ts";
import { argv } from "../command_line.ts";
import {
  assertSameRun,
  namesIn,
  refuses,
  rgx,
  startRgx,
  succeeds,
  tinyConfig,
} from "../support.ts";

interface SweepJson {
  runs: { label: string; folder: string; summary: { status: string } | null }[];
  chart: string | null;
}

test.inFolder("a sweep trains every combination; stopped, it goes on with the same command", async (folder) => {
  await tinyConfig(folder);
  const sizes = argv`training.max_steps=60 training.save_steps=20
    training.per_device_train_batch_size=4`;
  const args = argv`sweep tiny.yaml training.seed=1,2 training.learning_rate=1e-3,2e-3 ${sizes}
    --output-dir out`;
  const labels = ["1", "2"].flatMap((seed) =>
    ["1e-3", "2e-3"].map((rate) => `seed-${seed}_learning_rate-${rate}`)
  );
  const session = startRgx([...args, "--jobs", "2"], { cwd: folder });
  await session.reaches("a checkpoint", () => exists(`${folder}/out/${labels[0]}/checkpoint-20`));
  const { code, err: text } = await session.ends("SIGTERM");
  assert.equal(code, 75, text);
  assert.match(text, /4 runs in out, 2 at once/);
  assert.match(text, /seed-1_learning_rate-1e-3 +stopped, saved/);
  assert.ok(!await exists(`${folder}/out/${labels[3]}`));

  const rest = await succeeds(args, { cwd: folder });
  for (const label of labels) {
    assert.match(rest.out, new RegExp(`^${label} +\\d+\\.\\d % \\[`, "m"));
    assert.ok(await exists(`${folder}/out/${label}/model.safetensors`));
  }
  assert.ok(await exists(`${folder}/out/curves.png`));
  const again = await rgx([...args, "--json"], { cwd: folder });
  assert.match(again.err, /4 of them are completed already/);
  const { runs, chart } = JSON.parse(again.out) as SweepJson;
  assert.deepEqual(runs.map(({ label }) => label), labels);
  assert.ok(runs.every(({ summary }) => summary?.status === "completed"));
  assert.equal(chart, "out/curves.png");

  // A run of a sweep is the run that `rgx train` makes.
  await succeeds(
    argv`train tiny.yaml ${sizes} training.seed=2 training.learning_rate=2e-3 --quiet`,
    { env: { RGX_TRAINING__OUTPUT_DIR: "alone" }, cwd: folder },
  );
  await assertSameRun(`${folder}/alone`, `${folder}/out/${labels[3]}`);

  // The folders hold runs with other steps.
  const other = [...args, "training.max_steps=5"];
  const says = /out\/seed-1_learning_rate-1e-3: holds a run with another config/;
  await refuses([[other, says]], { cwd: folder });
});

test.inFolder("a run that fails is named, and the others are made", async (folder) => {
  await tinyConfig(folder);
  // A file stands where the first run's folder would be.
  await Deno.mkdir(`${folder}/out`);
  await Deno.writeTextFile(`${folder}/out/seed-1`, "");
  const { code, out, err } = await rgx(argv`sweep tiny.yaml training.seed=1,2 --output-dir out`, {
    cwd: folder,
  });
  assert.equal(code, 1);
  assert.match(err, /seed-1 +failed \(exit code \d+\)/);
  assert.match(err, /not completed: see out\/seed-1\.log/);
  assert.match(out, /seed-1 +– +– +not begun/);
  assert.match(out, /seed-2 +\d/);
});

test.inFolder("wrong sweeps are refused before the first run", async (folder) => {
  await tinyConfig(folder);
  await refuses([
    [["training.max_steps=3"], /no key has several values/],
    [["training.learning_rate=1e-3,x"], /learning_rate.*expected/],
    [["training.seed=1,2", "training.sed=3"], /training\.sed: unknown key/],
    [["training.seed=1,2", "--jobs", "0"], /--jobs 0: expected a number from 1 on/],
  ], { cwd: folder, before: ["sweep", "tiny.yaml"] });
  assert.deepEqual(namesIn(folder), ["tiny.yaml"]);
});
