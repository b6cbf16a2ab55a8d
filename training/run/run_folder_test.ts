/**
 * The folder of a run: which folders a run may use, and resuming in a used one.
 */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { assemble } from "../assemble.ts";
import { GrpoTrainer } from "../trainer.ts";
import { metricsWithoutClock, shortRunConfig, test, trainOn, varying } from "../testing.ts";

test.onReference("a complete run that has kept no checkpoint is replaced only with force", async ({ device, dir }) => {
  const path = `${dir}/run`, config = shortRunConfig(path, { training: { save_strategy: "no" } });
  await trainOn(device, config, varying);
  const read = () => Deno.readFile(`${path}/model.safetensors`), model = await read();
  const metrics = await Deno.readTextFile(`${path}/metrics.jsonl`);
  await assert.rejects(
    trainOn(device, config, { ...varying, resume: true }),
    refusal(/is complete \(GRPO step 2\) and has kept no checkpoint of/, UsageError),
  );
  assert.deepEqual(await read(), model);
  assert.equal(await Deno.readTextFile(`${path}/metrics.jsonl`), metrics);
  const again = await trainOn(device, config, { ...varying, resume: true, force: true });
  assert.equal(again.summary.status, "completed");
  assert.deepEqual(await read(), model);
});

test.onReference("a folder with files is refused without resume or force", async ({ device, dir }) => {
  const path = `${dir}/run`;
  await trainOn(device, shortRunConfig(path), varying);
  const before = await Deno.readTextFile(`${path}/metrics.jsonl`);
  await assert.rejects(
    trainOn(device, shortRunConfig(path), varying),
    (error: unknown) =>
      error instanceof UsageError && error.message.includes(path) &&
      error.message.includes("another run") && /--resume.*--force/.test(error.advice!),
  );
  assert.equal(await Deno.readTextFile(`${path}/metrics.jsonl`), before);

  await Deno.writeTextFile(`${path}/notes.txt`, "mine");
  await Deno.writeTextFile(`${path}/adapter_config.json`, "{}");
  await trainOn(device, shortRunConfig(path, { training: { max_steps: 1 } }), {
    ...varying,
    force: true,
  });
  await assert.rejects(Deno.stat(`${path}/adapter_config.json`), Deno.errors.NotFound);
  assert.equal(await Deno.readTextFile(`${path}/notes.txt`), "mine");
  const lines = await metricsWithoutClock(path);
  assert.deepEqual(lines.filter((line) => line.split === "train").map((line) => line.step), [1]);
  await assert.rejects(Deno.stat(`${path}/checkpoint-2`), Deno.errors.NotFound);

  await Deno.mkdir(`${dir}/other`);
  await Deno.writeTextFile(`${dir}/other/notes.txt`, "mine");
  await assert.rejects(
    trainOn(device, shortRunConfig(`${dir}/other`), varying),
    (error: unknown) => error instanceof UsageError && error.message.includes("other files"),
  );
  await Deno.writeTextFile(`${dir}/file`, "");
  await assert.rejects(
    trainOn(device, shortRunConfig(`${dir}/file`), varying),
    (error: unknown) => error instanceof UsageError && error.message.includes(`${dir}/file`),
  );
});

test.onReference("two runs cannot use one folder at a time", async ({ device, dir }) => {
  const config = shortRunConfig(`${dir}/run`);
  let second: Promise<unknown> | null = null;
  await trainOn(device, config, {
    ...varying,
    listeners: [(event) => {
      if (event.type !== "plan") return;
      second = assert.rejects(
        trainOn(device, config, { ...varying, resume: true }),
        (error: unknown) =>
          error instanceof UsageError && error.message.includes("another run is using"),
      );
    }],
  });
  await second!;
});

test.onReference("a run whose files are deleted says so; one missing file does not end it", async ({ device, dir }) => {
  const losing = (name: string, lost: string) =>
    trainOn(device, shortRunConfig(`${dir}/${name}`), {
      ...varying,
      listeners: [(event) => {
        if (event.type === "step" && event.phase === "grpo" && event.step === 1) {
          Deno.removeSync(`${dir}/${name}/${lost}`, { recursive: true });
        }
      }],
    });
  for (const file of [".rgx.lock", "run.json", "config.yaml"]) {
    assert.equal((await losing(file, file)).summary.status, "completed");
  }
  await assert.rejects(
    losing("lost", "."),
    refusal(/the files of this run are gone/),
  );
});

test.onReference("a check without a run looks for the named checkpoint", async ({ device, dir }) => {
  const config = shortRunConfig(`${dir}/run`);
  const { model, ...parts } = await assemble(config, device);
  const check = (resume: boolean | string) =>
    new GrpoTrainer({ config, configText: "", device, model, ...parts, resume }).check();
  await check(true);
  await assert.rejects(check("7"), /--resume=7: there is no such checkpoint/);
  await Deno.mkdir(`${dir}/run`);
  await Deno.writeTextFile(`${dir}/run/run.json`, "{}");
  const [refused] = await check(false);
  assert.match(refused!, /would be refused: .*run: output_dir is not empty.* Use --resume/);
  assert.equal((await check(true)).some((note) => note.includes("refused")), false);
  config.training.output_dir = `${dir}/run/run.json/below`;
  await assert.rejects(check(false), /cannot create .*below: a part of this path is a file/);
  model.dispose();
});
