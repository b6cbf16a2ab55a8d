import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { UsageError } from "../../core/errors.ts";
import { writeRun } from "../dashboard/testing.ts";
import { bytesOf, noise, settingsFor, TOKEN, withHub } from "../../hub/testing.ts";
import type { FakeHub } from "../../hub/testing.ts";
import { acceptUploads, type Received } from "../../hub/upload/testing.ts";
import { saveCheckpoint } from "../../training/checkpoint/checkpoint_folders.ts";
import { findModel, shareModel, type ShareOptions, uploadCommand } from "./share_model.ts";

const MODEL = {
  "config.json": bytesOf("{}"),
  "tokenizer.json": bytesOf("{}"),
  "model.safetensors": noise(5000),
  "README.md": bytesOf("# of the run\n"),
};

/** A run with a final model and two checkpoints. */
async function writeTrained(folder: string): Promise<void> {
  await writeRun(folder, 8, {
    "config.yaml":
      "model: {model_name_or_path: some/base}\ntraining:\n  output_dir: /home/me/run\n" +
      `  beta: 0.1\ndata: {task_name: spell_backward, dataset_name: org/data}\nnote: ${TOKEN}\n`,
  });
  for (const [name, bytes] of Object.entries(MODEL)) {
    await Deno.writeFile(`${folder}/${name}`, bytes);
  }
  for (const step of [4, 8]) {
    const files = new Map(Object.entries({
      ...MODEL,
      "model.safetensors": noise(5000, step),
      "optimizer.safetensors": noise(9000, step),
      "rgx_state.json": bytesOf("{}"),
      "trainer_state.json": bytesOf("{}"),
    }));
    await saveCheckpoint(folder, step, files);
  }
}

async function withTrained(
  test: (parts: {
    folder: string;
    hub: FakeHub;
    received: Received;
    options: ShareOptions;
  }) => Promise<void>,
): Promise<void> {
  await withFolder((folder) =>
    withHub(async (hub) => {
      await writeTrained(folder);
      const received = acceptUploads(hub);
      const settings = settingsFor(hub, { token: TOKEN });
      const options: ShareOptions = {
        settings,
        repoId: "org/new",
        optimizerSaveMode: "full",
        firstDelay: 1,
      };
      await test({ folder, hub, received, options });
    })
  );
}

const TOP = ["README.md", "config.json", "curves.png", "model.safetensors", "tokenizer.json"];
const namesOf = (hub: FakeHub) =>
  hub.repositories.get("models/org/new")!.files.map(({ name }) => name).sort();
const contentOf = (hub: FakeHub, name: string) =>
  hub.repositories.get("models/org/new")!.files.find((file) => file.name === name)!.bytes;

Deno.test("a run is shared with its card, its curves, and what a resume needs", () =>
  withTrained(async ({ folder, hub, options }) => {
    await shareModel(folder, { ...options, license: "apache-2.0" });
    const inCheckpoint = namesOf(hub).filter((name) => name.startsWith("checkpoint-8/"));
    assert.deepEqual(inCheckpoint.map((name) => name.slice(13)), [
      "README.md",
      "SHA256SUMS",
      "config.json",
      "model.safetensors",
      "optimizer.safetensors",
      "rgx_state.json",
      "tokenizer.json",
      "trainer_state.json",
    ]);
    assert.deepEqual(namesOf(hub).filter((name) => !name.startsWith("checkpoint-8/")), TOP);
    assert.deepEqual(contentOf(hub, "model.safetensors"), MODEL["model.safetensors"]);
    const card = new TextDecoder().decode(contentOf(hub, "README.md"));
    for (
      const part of [
        /^---\nbase_model: some\/base\nlicense: apache-2\.0\ndatasets:\n {2}- org\/data\n/,
        /library_name: transformers/,
        /25\.0 → 50\.0 %/,
        /95 % interval/,
        /!\[Curves of the training\]\(curves\.png\)/,
        /output_dir: \.\/run$/m,
        /--resume=checkpoint-8/,
        /## Licence\n\napache-2\.0/,
      ]
    ) assert.match(card, part);
    assert.ok(!card.includes(TOKEN) && !card.includes("/home/me"));
    assert.deepEqual(contentOf(hub, "curves.png").subarray(1, 4), bytesOf("PNG"));
  }));

Deno.test("a step of a run, a checkpoint's folder and the link latest are shared", () =>
  withTrained(async ({ folder, hub, options }) => {
    const weightsOf = async (path: string, wanted: number | null = null) => {
      const { model, step } = await findModel(path, wanted);
      return [step, await Deno.readFile(`${model}/model.safetensors`)];
    };
    assert.deepEqual(await weightsOf(folder, 4), [4, noise(5000, 4)]);
    assert.deepEqual(await weightsOf(`${folder}/checkpoint-4/`), [4, noise(5000, 4)]);
    assert.deepEqual(await weightsOf(`${folder}/latest`), [8, noise(5000, 8)]);
    assert.deepEqual((await weightsOf(folder))[1], MODEL["model.safetensors"]);
    await Deno.remove(`${folder}/model.safetensors`);
    assert.deepEqual(await weightsOf(folder), [8, noise(5000, 8)]);
    await shareModel(folder, { ...options, optimizerSaveMode: null, step: 4 });
    assert.deepEqual(namesOf(hub), TOP);
    assert.deepEqual(contentOf(hub, "model.safetensors"), noise(5000, 4));
  }));

Deno.test("a model of another program keeps its card", () =>
  withTrained(async ({ folder, hub, options }) => {
    const other = `${folder}/elsewhere`;
    await Deno.mkdir(other);
    for (const [name, bytes] of Object.entries(MODEL)) {
      await Deno.writeFile(`${other}/${name}`, bytes);
    }
    await Deno.writeFile(`${other}/notes.txt`, bytesOf("private"));
    // Beside the files of a run it would be a checkpoint of that run.
    await Deno.rename(`${folder}/metrics.jsonl`, `${folder}/metrics.old`);
    await shareModel(other, options);
    assert.deepEqual(namesOf(hub), TOP.filter((name) => name !== "curves.png"));
    assert.deepEqual(contentOf(hub, "README.md"), MODEL["README.md"]);
  }));

Deno.test("folders without a whole model are refused before anything is sent", () =>
  withTrained(async ({ folder, hub, options }) => {
    const refuse = (path: string, says: RegExp, more: Partial<ShareOptions> = {}) =>
      assert.rejects(shareModel(path, { ...options, ...more }), (error: Error) => {
        assert.ok(error instanceof UsageError, String(error));
        assert.match(error.message, says);
        return true;
      });
    await refuse(`${folder}/missing`, /there is no such folder/);
    await refuse(`${folder}/completions`, /there is no such folder/);
    await refuse(folder, /there is no checkpoint-5/, { step: 5 });
    await refuse(folder, /the Hub forbids this name/, { repoId: "a b" });
    await refuse(folder, /no token/, { settings: { ...options.settings!, token: null } });
    await Deno.writeFile(`${folder}/checkpoint-4/model.safetensors`, noise(10));
    await refuse(`${folder}/checkpoint-4`, /this checkpoint is damaged/);
    await Deno.mkdir(`${folder}/actor`);
    await refuse(`${folder}/actor`, /no model in this folder/);
    await Deno.writeFile(`${folder}/actor/model_world_size_2_rank_0.pt`, noise(10));
    await refuse(`${folder}/actor`, /parts of several processes/);
    await Deno.mkdir(`${folder}/global_step_7/actor/huggingface`, { recursive: true });
    for (const name of ["config.json", "model.safetensors"]) {
      await Deno.writeFile(`${folder}/global_step_7/actor/huggingface/${name}`, noise(10));
    }
    const { model, step } = await findModel(`${folder}/global_step_7/actor`, null);
    assert.deepEqual([model, step], [`${folder}/global_step_7/actor/huggingface`, 7]);
    assert.equal(hub.seen.length, 0);
  }));

Deno.test("the command for a later upload is the one that does the same", () => {
  assert.equal(
    uploadCommand("a/b", { repoId: "me/x", optimizerSaveMode: null }),
    "rgx upload a/b --repo-id me/x --optimizer-save-mode none",
  );
});
