/** Uploads of `rgx train`: while it trains, at its end, and what a failed one leaves. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { type FakeHub, refused, TOKEN, withHub } from "../../hub/testing.ts";
import { acceptUploads, type Received } from "../../hub/upload/testing.ts";
import { argv } from "../command_line.ts";
import { rgx } from "../support.ts";

const TINY = argv`train quickstart training.max_steps=4 sft.max_steps=1 eval.num_examples=0
  per_device_train_batch_size=32 training.save_steps=2 data.num_examples=64`;

async function trained(
  overrides: readonly string[],
  test: (parts: {
    hub: FakeHub;
    received: Received;
    run: (env?: Record<string, string>) => ReturnType<typeof rgx>;
    folder: string;
  }) => Promise<void>,
): Promise<void> {
  await withFolder((folder) =>
    withHub(async (hub) => {
      const received = acceptUploads(hub), output = `${folder}/my-run`;
      const run = (env: Record<string, string> = {}) =>
        rgx([...TINY, "--output-dir", output, ...overrides], {
          env: {
            HF_ENDPOINT: hub.url,
            HF_HOME: hub.cache,
            HF_TOKEN: TOKEN,
            HF_HUB_OFFLINE: "",
            ...env,
          },
        });
      await test({ hub, received, run, folder: output });
    })
  );
}

/** All files in a folder and below it, as text. */
async function filesBelow(folder: string): Promise<{ path: string; text: string }[]> {
  const found: { path: string; text: string }[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await filesBelow(path));
    if (isFile) {
      found.push({ path, text: new TextDecoder("latin1").decode(await Deno.readFile(path)) });
    }
  }
  return found;
}

const namesOf = (hub: FakeHub, name: string) =>
  hub.repositories.get(`models/${name}`)!.files.map((file) => file.name);

Deno.test("hf_upload uploads the model of a complete run, with what a resume needs", () =>
  trained(
    ["hf_upload.enabled=true", "hf_upload.repo_id=org/mine", "hf_upload.private=true"],
    async (
      { hub, received, run },
    ) => {
      const { code, err } = await run();
      assert.equal(code, 0, err);
      assert.match(err, /Uploaded: http:\/\/127\.0\.0\.1:\d+\/org\/mine/);
      assert.equal(received.created[0]!["private"], true);
      assert.deepEqual(received.commits.map(({ summary }) => summary), ["End of training"]);
      const names = namesOf(hub, "org/mine");
      for (const name of ["README.md", "model.safetensors", "checkpoint-4/optimizer.safetensors"]) {
        assert.ok(names.includes(name), name);
      }
      assert.ok(!err.includes(TOKEN));
    },
  ));

Deno.test("push_to_hub with hub_strategy checkpoint uploads while it trains", () =>
  trained(
    argv`push_to_hub=true hub_strategy=checkpoint hub_token=${TOKEN} report_to=all`,
    async ({ hub, received, run, folder }) => {
      const trackers = { TRACKIO_DIR: `${folder}-trackio`, WANDB_DIR: `${folder}-wandb` };
      const { code, err, out } = await run({ HF_TOKEN: "", ...trackers });
      assert.equal(code, 0, err);
      const said = received.commits.map(({ summary }) => summary);
      assert.match(said[0]!, /^Training in progress, step [24]$/);
      assert.equal(said.at(-1), "End of training");
      const names = namesOf(hub, "somebody/my-run");
      assert.ok(names.includes("last-checkpoint/optimizer.safetensors"), names.join());
      const holders = (await filesBelow(`${folder}/..`)).filter(({ text }) => text.includes(TOKEN));
      assert.deepEqual(holders.map(({ path }) => path), []);
      assert.ok(!(out + err).includes(TOKEN));
    },
  ));

Deno.test("a failed upload does not fail the run, and says how to upload later", () =>
  trained(["push_to_hub=true", "hub_model_id=org/mine"], async ({ hub, run, folder }) => {
    hub.misbehave = ({ path }) => path.includes("/commit/") ? refused(413, "", "too large") : null;
    const { code, err } = await run();
    assert.equal(code, 0, err);
    assert.match(err, /The model was not uploaded: org\/mine: over the quota/);
    assert.match(err, /Later: rgx upload \S+my-run --repo-id org\/mine --optimizer-save-mode none/);
    assert.equal(JSON.parse(await Deno.readTextFile(`${folder}/run.json`)).status, "completed");
  }));

Deno.test("without a token the run is refused at once; offline it is only noted", () =>
  trained(["push_to_hub=true", "hub_strategy=end"], async ({ run, received, folder }) => {
    const { code: refusal, err: said } = await run({ HF_TOKEN: "" });
    assert.equal(refusal, 2);
    assert.match(said, /no token for the Hub/);
    await assert.rejects(Deno.stat(`${folder}/run.json`));
    const { code, err } = await run({ HF_HUB_OFFLINE: "1", HF_TOKEN: "" });
    assert.equal(code, 0, err);
    assert.match(err, /HF_HUB_OFFLINE forbids uploads\. On a machine with a network: rgx upload/);
    assert.equal(received.commits.length, 0);
  }));
