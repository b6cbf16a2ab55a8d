/** Uploads of `rgx train`: while it trains, at its end, and what a failed one leaves. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { type FakeHub, refused, TOKEN, withHub } from "../../hub/testing.ts";
import { acceptUploads, type Received } from "../../hub/upload/testing.ts";
import { argv } from "../command_line.ts";
import { rgx } from "../support.ts";

const TINY = argv`train quickstart training.max_steps=4 sft.max_steps=1 eval.num_examples=0
  per_device_train_batch_size=32 training.save_steps=2 data.num_examples=64`;

/** A test of a tiny run: `run` trains it into `folder`. */
function uploadTest(
  name: string,
  overrides: readonly string[],
  work: (parts: {
    hub: FakeHub;
    received: Received;
    run: (env?: Record<string, string>) => ReturnType<typeof rgx>;
    folder: string;
  }) => Promise<void>,
): void {
  test.inFolder(name, (parent) =>
    withHub(async (hub) => {
      const received = acceptUploads(hub), folder = `${parent}/my-run`;
      const args = [...TINY, "--output-dir", folder, ...overrides];
      const run = (env = {}) => rgx(args, { env: { ...hub.env, ...env } });
      await work({ hub, received, run, folder });
    }));
}

const namesOf = (hub: FakeHub, name: string) =>
  hub.repositories.get(`models/${name}`)!.files.map((file) => file.name);

uploadTest(
  "push_to_hub with hub_strategy checkpoint uploads while it trains",
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
    const grep = new Deno.Command("grep", { args: ["-rlF", TOKEN, `${folder}/..`] });
    assert.equal((await grep.output()).code, 1, "a file holds the token");
    assert.ok(!(out + err).includes(TOKEN));
  },
);

uploadTest(
  "a failed upload does not fail the run, and says how to upload later",
  argv`push_to_hub=true
  hub_model_id=org/mine`,
  async ({ hub, run, folder }) => {
    hub.misbehave = ({ path }) => path.includes("/commit/") ? refused(413, "", "too large") : null;
    const { code, err } = await run();
    assert.equal(code, 0, err);
    assert.match(err, /The model was not uploaded: org\/mine: over the quota/);
    assert.match(err, /Later: rgx upload \S+my-run --repo-id org\/mine --optimizer-save-mode none/);
    assert.equal(JSON.parse(await Deno.readTextFile(`${folder}/run.json`)).status, "completed");
  },
);

uploadTest(
  "without a token the run is refused at once; offline it is only noted",
  argv`push_to_hub=true
  hub_strategy=end`,
  async ({ run, received, folder }) => {
    const { code: refusal, err: said } = await run({ HF_TOKEN: "" });
    assert.equal(refusal, 2);
    assert.match(said, /no token for the Hub/);
    await assert.rejects(Deno.stat(`${folder}/run.json`));
    const { code, err } = await run({ HF_HUB_OFFLINE: "1", HF_TOKEN: "" });
    assert.equal(code, 0, err);
    assert.match(err, /HF_HUB_OFFLINE forbids uploads\. On a machine with a network: rgx upload/);
    assert.equal(received.commits.length, 0);
  },
);
