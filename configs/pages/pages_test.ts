import assert from "node:assert/strict";
import { readGoldenJson } from "../../tests/golden.ts";
import { leaves } from "../dotted_keys.ts";
import { loadConfig } from "../load.ts";
import { LISTED } from "../foreign/foreign_keys.ts";
import { KEYS } from "../reading/key_names.ts";
import { pages } from "./pages.ts";

const PAGES = await pages();

for (const [name, made] of PAGES) {
  Deno.test(`docs/${name} is what the lists make (deno task docs:config)`, async () => {
    const page = await Deno.readTextFile(new URL(`../../docs/${name}`, import.meta.url));
    assert.ok(page === made, "it is not current: run deno task docs:config");
    assert.doesNotMatch(page, /<!-- (section|project|keys|commands|defaults)/);
  });
}

Deno.test("the pages name every key of every list", () => {
  const text = [...PAGES.values()].join("\n");
  for (const path of [...KEYS.keys(), ...LISTED.keys()]) {
    const last = path.split(".").at(-1)!;
    assert.ok(text.includes(`${last}\``), path);
  }
});

Deno.test("TRL's defaults are rgx's, with the exceptions that the page names", async () => {
  const { TrainingArguments, GRPOConfig, ModelConfig, ScriptArguments } = readGoldenJson<
    Record<string, Record<string, unknown>>
  >("trainer_keys.json");
  const theirs = Object.entries({
    ...TrainingArguments,
    ...GRPOConfig,
    ...ModelConfig,
    ...ScriptArguments,
  }).filter(([, value]) => value !== null);
  const run = { model_name_or_path: "m", task: "chain_sum", rewards: ["correctness"] };
  const values = async (config: Record<string, unknown>) =>
    leaves((await loadConfig(config)).config);
  const trl = new Map(await values({ ...Object.fromEntries(theirs), ...run }));
  const differ = (await values(run))
    .filter(([key, value]) => JSON.stringify(trl.get(key)) !== JSON.stringify(value))
    .map(([key, value]) => [key, value, trl.get(key)]);
  assert.deepEqual(differ, [
    ["model.dtype", "auto", "float32"],
    ["training.log_completions", true, false],
  ]);
  const { lora } = (await loadConfig({ ...run, use_peft: true })).config;
  assert.deepEqual([lora?.lora_alpha, lora?.lora_dropout], [ModelConfig!["lora_alpha"], 0]);
});
