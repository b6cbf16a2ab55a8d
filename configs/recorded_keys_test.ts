/**
 * Every key of `tests/golden/configuration_keys.json`: loading it has an effect, or is accepted
 * with a note, or is refused by name. It is never unknown and never silent.
 */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { LISTED, TRANSLATED_KEYS } from "./foreign/foreign_keys.ts";
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

/** Values of which each key takes one. */
const VALUES = ["true", "false", "3", "x", "server", "auto", "seq-mean-token-mean", "[brevity]"]
  .concat("{temperature: 0.5}");

/** What has to be written beside a key, so that it can be taken. */
const BESIDE: Record<string, string> = {
  no_trackio: "report_to: trackio\n",
  use_wandb: "report_to: trackio\n",
  use_trackio: "report_to: wandb\n",
  use_vllm: "vllm_mode: server\nuse_peft: true\n",
  "actor_rollout_ref.actor.kl_loss_coef": "actor_rollout_ref.actor.use_kl_loss: true\n",
  "trainer.test_freq": "eval: {num_examples: 9}\n",
  "trainer.val_before_train": "eval: {num_examples: 9}\n",
};

/** Whether a key is a name of one that rgx reads as it is: `key_values_test.ts` sets those. */
function isRead(key: string): boolean {
  const meaning = meaningOf(key.replace(".task.", ".chain_sum."));
  const path = meaning.kind === "key" ? meaning.path : null;
  return path !== null && !Object.hasOwn(TRANSLATED_KEYS.keys, path) ||
    key.startsWith("curriculum.curricula.");
}

/** Documents with problems of a task, and of a data set of the Hub. */
const DOCUMENTS = ["task: chain_sum", "dataset_name: org/name"].map((problems) =>
  `model_name: m\nrewards: [correctness]\n${problems}\n`
);

/** Documents → their configurations. */
const plain = new Map<string, string>();

/** What loading a key with one value or another comes to; "" for nothing at all. */
async function outcome(key: string): Promise<"effect" | "noted" | "refused" | ""> {
  const name = key.split(".").at(-1)!, beside = BESIDE[key] ?? BESIDE[name] ?? "";
  for (const document of DOCUMENTS) {
    const base = (key.startsWith("reward.") ? document.replace(/rewards: .*\n/, "") : document) +
      beside + (key.startsWith("lora.") ? "lora_alpha: 7\n" : "");
    if (!plain.has(base)) {
      plain.set(base, await load(base).then((it) => JSON.stringify(it.config), () => "none"));
    }
    for (const value of VALUES) {
      try {
        const { config, notes } = await load(`${base}${nest(key, value)}\n`);
        if (JSON.stringify(config) !== plain.get(base)) return "effect";
        if (notes.some((note) => note.includes(name))) return "noted";
      } catch (error) {
        if (!(error instanceof RgxError) || error.exitCode !== 2) throw error;
        // Some sections are refused as a whole.
        const lines = error.message.split("\n").filter((line) =>
          line.includes(name) || line.includes(`: ${key.split(".")[0]}: `)
        );
        assert.doesNotMatch(lines.join("\n"), /: (unknown key|wrong section|the same key)/, key);
        if (lines.some((line) => line.includes("not supported"))) return "refused";
      }
    }
  }
  return "";
}

/** A dotted key as nested maps around a value. */
function nest(key: string, value: string): string {
  const parts = key.split(".");
  return parts.join(": {") + `: ${value}` + "}".repeat(parts.length - 1);
}

Deno.test("every key of the recorded list has an effect, a note or a refusal, flat and in its section", async () => {
  const { keys } = recorded;
  assert.ok(keys.length > 150, `only ${keys.length} keys were found in the list`);
  const spellings = keys.filter(({ name }) => !name.includes("*") && name !== "rewards")
    .flatMap(({ section, name }) =>
      section === "" || name.includes(".") ? [name] : [name, `${section}.${name}`]
    );
  const silent: string[] = [];
  for (const key of spellings) if (!isRead(key) && await outcome(key) === "") silent.push(key);
  assert.deepEqual(silent, [], "these do nothing and say nothing");
});

Deno.test("what the recorded list lists as accepted is noted, what it lists as refused is refused", async () => {
  const { accepted, refused } = recorded;
  assert.ok(accepted.length > 60 && refused.length > 15, `${accepted.length} ${refused.length}`);
  for (const name of accepted) {
    const { kind, noted } = LISTED.get(name) ?? {};
    assert.ok(kind === "no effect" || noted === "any", `${name} is not accepted`);
    for (const key of name.includes(".") ? [name] : [name, `training.${name}`]) {
      assert.equal(await outcome(key), "noted", key);
    }
  }
  for (const name of refused) {
    assert.ok(LISTED.get(name)?.kind === "refused", `${name} is not refused`);
    const lines = await errorsOf(MINIMAL + nest(name, "[odd]") + "\n");
    assert.ok(lines.some((line) => line.includes("not supported")), `${name}: ${lines}`);
  }
});

Deno.test("every spelling of the alias map is understood", async () => {
  const { aliases } = recorded;
  assert.ok(aliases.length > 80, `only ${aliases.length} aliases were found in the list`);
  const silent: string[] = [];
  for (const name of aliases) {
    const known = meaningOf(name).kind;
    assert.ok(!["unknown", "misplaced"].includes(known), `${name}: ${known}`);
    if (known !== "prefix" && !isRead(name) && await outcome(name) === "") silent.push(name);
  }
  assert.deepEqual(silent, [], "these do nothing and say nothing");
});
