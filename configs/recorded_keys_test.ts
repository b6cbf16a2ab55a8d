/**
 * Every key of `tests/golden/configuration_keys.json`: loading it has an effect, or is accepted
 * with a note, or is refused by name. It is never unknown and never silent.
 */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { LISTED } from "./foreign/foreign_keys.ts";
import { meaningOf } from "./reading/key_names.ts";
import { readGoldenJson } from "../tests/golden.ts";
import { errorsOf, load, MINIMAL } from "./testing.ts";

interface RecordedKeys {
  /** Every key of TRL's `GRPOConfig` and of the other sections. */
  keys: { section: string; name: string }[];
  /** Keys that steer other engines: accepted, with a note. */
  accepted: string[];
  /** Keys that would change results and are not supported: refused by name. */
  refused: string[];
  /** Other spellings, verl's among them. */
  aliases: string[];
}

const recorded = readGoldenJson<RecordedKeys>("configuration_keys.json");

/** Values that one key or another takes. */
const VALUES = [
  "true",
  "false",
  "3",
  "4",
  "16",
  "32",
  "0.25",
  "x",
  "'none'",
  "tensorboard",
  "lora_only",
  "1024",
  "steps",
  "batch",
  "sequence",
  "grpo",
  "cosine",
  "left",
  "server",
  "token_mask",
  "normalize_then_sum",
  "all-linear",
  "seq-mean-token-mean",
  "bfloat16",
  "adamw_8bit",
  "auto",
  "accuracy",
  "[2]",
  "[gate_proj]",
  "[x]",
  "{a: 1}",
  "{min_terms: 3}",
  "{num_terms: 1}",
  "{chain_sum: {weight: 2}}",
  "{temperature: 0.5}",
  "{min_lr_rate: 0.5}",
  "[brevity]",
  "[{name: brevity}]",
  "shortest_path",
  "developer",
  "f.yaml",
  "end",
  "null",
];

/** What has to be written beside a key, so that it can be taken. */
const BESIDE: Record<string, string> = {
  no_trackio: "report_to: trackio\n",
  use_wandb: "report_to: trackio\n",
  use_trackio: "report_to: wandb\n",
  use_vllm: "vllm_mode: server\nuse_peft: true\n",
  load_in_4bit: "use_peft: true\n",
  load_in_8bit: "use_peft: true\n",
  lr_scheduler_kwargs: "lr_scheduler_type: cosine_with_min_lr\n",
  developer_role: "system_prompt: simple\n",
  truncate_prompts: "max_prompt_length: 100\n",
  eval_strategy: "eval: {num_examples: 9}\n",
  evaluation_strategy: "eval: {num_examples: 9}\n",
  eval_on_start: "eval: {num_examples: 9}\n",
  sync_ref_model: "beta: 0.1\n",
  load_best_model_at_end:
    "eval: {num_examples: 9}\neval_strategy: steps\nsave_steps: 4\neval_steps: 2\n",
  "actor_rollout_ref.actor.kl_loss_coef": "actor_rollout_ref.actor.use_kl_loss: true\n",
  "trainer.test_freq": "eval: {num_examples: 9}\n",
  "trainer.val_before_train": "eval: {num_examples: 9}\n",
  "hf_upload.enabled": "hf_upload.repo_id: me/x\n",
  "hf_upload.repo_id": "hf_upload.enabled: true\n",
  "hf_upload.optimizer_save_mode": "hf_upload.enabled: true\nhf_upload.repo_id: me/x\n",
  "hf_upload.private": "hf_upload.enabled: true\nhf_upload.repo_id: me/x\n",
};
for (
  const key of [
    "schedule.automatic",
    "schedule.update_steps",
    "last_k",
    "success_threshold",
    "failure_threshold",
    "curricula.chain_sum.attribute_levels",
  ]
) BESIDE[`curriculum.${key}`] = "curriculum.enabled: true\n";

/** Loadable documents: with problems of a task, of a file, and of a data set of the Hub. */
const DOCUMENTS = ["task: chain_sum", "dataset_name: f.jsonl", "dataset_name: org/name"].map(
  (source) => MINIMAL.replace("model: m", "model_name: m").replace("task: chain_sum", source),
);

/** The configurations of documents without the key that is tried. */
const withoutKey = new Map<string, string>();

type Outcome = "effect" | "noted" | "refused";

/** What loading the key with one value or another comes to. */
async function outcomes(name: string, written: string): Promise<Set<Outcome>> {
  const key = written.replace("curricula.task.", "curricula.chain_sum.");
  const found = new Set<Outcome>();
  const beside = BESIDE[key] ?? BESIDE[key.split(".").at(-1)!] ?? "";
  for (const document of DOCUMENTS) {
    // A key that the document itself holds is replaced.
    const meaning = meaningOf(key);
    const path = meaning.kind === "key" ? meaning.path : "";
    const lines = document.split("\n").filter((line) =>
      !(line.startsWith("model_name:") && path.startsWith("model.model_name")) &&
      !(line.startsWith("task:") && ["data.task_name", "data.tasks"].includes(path)) &&
      !(line.startsWith("dataset_name:") && path === "data.dataset_name") &&
      !(line.startsWith("rewards:") && (path === "rewards" || path.startsWith("reward.")))
    ).join("\n");
    const inLora = path.startsWith("lora.") || key.startsWith("lora.");
    const adapter = path === "lora.lora_alpha" ? "use_rslora: true\n" : "lora_alpha: 7\n";
    const base = lines + beside + (inLora ? adapter : "");
    const nested = nest(key);
    for (const value of VALUES) {
      const text = base + nested(value) + "\n";
      const files = { "f.jsonl": '{"question": "q", "answer": "a"}\n' };
      try {
        const loaded = await load(text, {}, files);
        const without = withoutKey.get(base) ??
          await load(base, {}, files).then(({ config }) => JSON.stringify(config), () => "none");
        withoutKey.set(base, without);
        const changed = without !== JSON.stringify(loaded.config);
        if (changed) found.add("effect");
        else if (loaded.notes.some((note) => note.includes(name))) found.add("noted");
      } catch (error) {
        if (!(error instanceof RgxError) || error.exitCode !== 2) throw error;
        // Some sections are refused as a whole.
        const lines = error.message.split("\n").filter((line) =>
          line.includes(name) || line.includes(`: ${key.split(".")[0]}: `)
        );
        for (const line of lines) {
          assert.ok(!/: (unknown key|wrong section|the same key)/.test(after(line, key)), text);
          if (line.includes("not supported")) found.add("refused");
        }
      }
      if (found.size > 0) return found;
    }
  }
  return found;
}

/** What a message says about a key. */
function after(line: string, key: string): string {
  const i = line.indexOf(` ${key}: `);
  return i < 0 ? "" : line.slice(i + 1 + key.length);
}

/** A dotted key as nested maps around a value. */
function nest(key: string): (value: string) => string {
  const parts = key.split(".");
  return (value) =>
    parts.slice(0, -1).map((part) => `${part}: {`).join("") + `${parts.at(-1)}: ${value}` +
    "}".repeat(parts.length - 1);
}

Deno.test({
  name:
    "every key of the recorded list has an effect, a note or a refusal, flat and in its section",
  async fn() {
    const { keys } = recorded;
    assert.ok(keys.length > 150, `only ${keys.length} keys were found in the list`);
    const silent: string[] = [];
    for (const { section, name } of keys) {
      if (name.includes("*") || name === "rewards") continue;
      const spellings = section === "" || name.includes(".")
        ? [name]
        : [name, `${section}.${name}`];
      for (const key of spellings) {
        if ((await outcomes(key, key)).size === 0) silent.push(key);
      }
    }
    assert.deepEqual(silent, [], "these do nothing and say nothing");
  },
});

Deno.test("what the recorded list lists as accepted is noted, what it lists as refused is refused", async () => {
  const { accepted, refused } = recorded;
  assert.ok(accepted.length > 60 && refused.length > 15, `${accepted.length} ${refused.length}`);
  for (const name of accepted) {
    const { kind, noted } = LISTED.get(name) ?? {};
    const isAnyTaken = kind === "no effect" || noted === "any";
    assert.ok(isAnyTaken, `${name} is not accepted`);
    for (const written of name.includes(".") ? [name] : [name, `training.${name}`]) {
      assert.deepEqual([...await outcomes(name, written)], ["noted"], written);
    }
  }
  for (const name of refused) {
    assert.ok(LISTED.get(name)?.kind === "refused", `${name} is not refused`);
    const lines = await errorsOf(MINIMAL + nest(name)("[odd]") + "\n");
    assert.ok(lines.some((line) => line.includes("not supported")), `${name}: ${lines}`);
  }
});

Deno.test("every spelling of the alias map is understood", async () => {
  const { aliases } = recorded;
  assert.ok(aliases.length > 80, `only ${aliases.length} aliases were found in the list`);
  const silent: string[] = [];
  for (const name of aliases) {
    const last = name.split(".").at(-1)!;
    const known = meaningOf(name).kind;
    assert.ok(!["unknown", "misplaced"].includes(known), `${name}: ${known}`);
    if (known === "prefix") continue;
    if ((await outcomes(last, name)).size === 0) silent.push(name);
  }
  assert.deepEqual(silent, [], "these do nothing and say nothing");
});
