/** `rgx sweep`. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { exists } from "../../core/paths.ts";
import { argv } from "../command_line.ts";
import { assertSameRun, rgx, spawnRgx, tinyConfig, waitFor } from "../support.ts";

interface SweepJson {
  runs: { label: string; folder: string; summary: { status: string } | null }[];
  chart: string | null;
}

test.inFolder("a sweep trains every combination, and a second one keeps what is completed", async (folder) => {
  await tinyConfig(folder);
  const args = ["sweep", "tiny.yaml", "training.seed=1,2", "training.learning_rate=1e-3,2e-3"];
  const first = await rgx([...args, "--output-dir", "out", "--jobs", "2"], "", {}, folder);
  assert.equal(first.code, 0, first.err);
  assert.match(first.err, /4 runs in out, 2 at once/);
  const labels = ["1", "2"].flatMap((seed) =>
    ["1e-3", "2e-3"].map((rate) => `seed-${seed}_learning_rate-${rate}`)
  );
  for (const label of labels) {
    assert.match(first.out, new RegExp(`^${label} +\\d+\\.\\d % \\[`, "m"));
    assert.ok(await exists(`${folder}/out/${label}/model.safetensors`));
  }
  assert.ok(await exists(`${folder}/out/curves.png`));

  const again = await rgx([...args, "--output-dir", "out", "--json"], "", {}, folder);
  assert.match(again.err, /4 of them are completed already/);
  const { runs, chart } = JSON.parse(again.out) as SweepJson;
  assert.deepEqual(runs.map(({ label }) => label), labels);
  assert.equal(chart, "out/curves.png");

  // A run of a sweep is the run that `rgx train` makes.
  const alone = await rgx(
    ["train", "tiny.yaml", "training.seed=2", "training.learning_rate=2e-3", "--quiet"],
    "",
    { RGX_TRAINING__OUTPUT_DIR: "alone" },
    folder,
  );
  assert.equal(alone.code, 0, alone.err);
  await assertSameRun(`${folder}/alone`, `${folder}/out/${labels[3]}`);

  // The folders hold runs with other steps.
  const other = await rgx(
    [...args, "training.max_steps=5", "--output-dir", "out"],
    "",
    {},
    folder,
  );
  assert.equal(other.code, 2);
  assert.match(other.err, /out\/seed-1_learning_rate-1e-3: holds a run with another config/);
});

test.inFolder("a stopped sweep goes on with the same command", async (folder) => {
  await tinyConfig(folder);
  const sizes = argv`training.max_steps=200 training.save_steps=20 sft.max_steps=0
    training.per_device_train_batch_size=4 training.max_completion_length=4`;
  const args = ["sweep", "tiny.yaml", "training.seed=1,2", ...sizes];
  const child = spawnRgx([...args, "--output-dir", "out"], { cwd: folder });
  const output = child.output();
  await waitFor(child, () => exists(`${folder}/out/seed-1/checkpoint-20`));
  child.kill("SIGTERM");
  const { code, stderr } = await output;
  const text = new TextDecoder().decode(stderr);
  assert.equal(code, 75, text);
  assert.match(text, /seed-1 +stopped, saved/);
  assert.ok(!await exists(`${folder}/out/seed-2`));

  const { runs } = JSON.parse(
    (await rgx([...args, "--output-dir", "out", "--json"], "", {}, folder)).out,
  ) as SweepJson;
  assert.deepEqual(runs.map(({ summary }) => summary?.status), ["completed", "completed"]);
});

test.inFolder("a run that fails is named, and the others are made", async (folder) => {
  await tinyConfig(folder);
  // A file stands where the first run's folder would be.
  await Deno.mkdir(`${folder}/out`);
  await Deno.writeTextFile(`${folder}/out/seed-1`, "");
  const { code, out, err } = await rgx(
    ["sweep", "tiny.yaml", "training.seed=1,2", "--output-dir", "out"],
    "",
    {},
    folder,
  );
  assert.equal(code, 1);
  assert.match(err, /seed-1 +failed \(exit code \d+\)/);
  assert.match(err, /not completed: see out\/seed-1\.log/);
  assert.match(out, /seed-1 +– +– +not begun/);
  assert.match(out, /seed-2 +\d/);
});

test.inFolder("wrong sweeps are refused before the first run", async (folder) => {
  await tinyConfig(folder);
  for (
    const [args, message] of [
      [["training.max_steps=3"], /no key has several values/],
      [["training.learning_rate=1e-3,x"], /learning_rate.*expected/],
      [["training.seed=1,2", "training.sed=3"], /training\.sed: unknown key/],
      [["training.seed=1,1"], /training\.seed: the value 1 is given twice/],
      [["training.output_dir=a,b"], /a folder of its own/],
      [["training.seed=1,2", "--jobs", "0"], /--jobs 0: expected a number from 1 on/],
    ] as const
  ) {
    const { code, err } = await rgx(["sweep", "tiny.yaml", ...args], "", {}, folder);
    assert.equal(code, 2, `${args}: ${err}`);
    assert.match(err, message);
  }
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["tiny.yaml"]);
});
