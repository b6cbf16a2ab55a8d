import assert from "node:assert/strict";
import { loadConfig } from "./load.ts";
import { renderOrigins } from "./dotted_keys.ts";

Deno.test("the keys of an upload are read, and a section that is off is none", async () => {
  const example = (await loadConfig("hf_upload_example")).config.hf_upload;
  assert.deepEqual(example, {
    enabled: true,
    repo_id: "your-username/your-model-name",
    optimizer_save_mode: "full",
    private: false,
    revision: null,
    license: null,
  });
  const off = await loadConfig("hf_upload_example", { overrides: ["hf_upload.enabled=false"] });
  assert.equal(off.config.hf_upload, null);
  const { training } = (await loadConfig("quickstart", {
    overrides: ["push_to_hub=true", "hub_model_id=me/x", "hub_strategy=end", "hub_revision=v1"],
  })).config;
  assert.deepEqual(
    [training.push_to_hub, training.hub_model_id, training.hub_strategy, training.hub_revision],
    [true, "me/x", "end", "v1"],
  );
});

Deno.test("wrong keys of an upload are told", async () => {
  const refuse = (overrides: string[], says: RegExp) =>
    assert.rejects(loadConfig("quickstart", { overrides }), says);
  await refuse(["hf_upload.enabled=true"], /hf_upload\.repo_id: missing: name the repository/);
  await refuse(
    ["hf_upload.enabled=true", "hf_upload.repo_id=datasets/me/x"],
    /hf_upload\.repo_id: datasets\/me\/x: a repository of another kind/,
  );
  await refuse(["push_to_hub=true", "hub_model_id=a--b"], /hub_model_id: a--b: the Hub forbids/);
  await refuse(
    ["push_to_hub=true", "+hf_upload={enabled: true, repo_id: me/x}"],
    /push_to_hub and hf_upload/,
  );
  await refuse(["hub_strategy=sometimes"], /hub_strategy: expected/);
  await refuse(["push_to_hub_organization=me"], /hub_model_id: ORGANIZATION\/NAME/);
});

Deno.test("the token of an upload is written nowhere", async () => {
  const given = await loadConfig("quickstart", { overrides: ["hub_token=hf_secret"] });
  assert.equal(given.config.training.hub_token, "hf_secret");
  assert.ok(!given.yaml.includes("hf_secret"));
  assert.ok(!renderOrigins(given).includes("hf_secret"));
  const named = await loadConfig("quickstart", {
    overrides: ["hub_token=${oc.env:HF_TOKEN}"],
    env: { HF_TOKEN: "hf_other" },
  });
  assert.equal(named.config.training.hub_token, "hf_other");
  assert.match(named.yaml, /hub_token: \$\{oc\.env:HF_TOKEN\}/);
});
