/**
 * Walks over every key that the reference page of the configuration names and holds that loading it either
 * has an effect, or is accepted with a note, or is refused by name: never unknown, never silent.
 */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { FOREIGN_KEYS } from "./foreign/foreign_keys.ts";
import { meaningOf } from "./documents/names.ts";
import { errorsOf, load, MINIMAL } from "./test_support.ts";
import { WITHOUT_EFFECT } from "./foreign/without_effect.ts";

const PAGE = new URL("../../shared/reference/grpo-config.md", import.meta.url);

/** Keys of the page that are spelt as words of a sentence there, or patterns. */
const NO_KEYS = new Set(["key", "removed", "v5", "names", "rgx", "TRL"]);

function expandBraces(text: string): string[] {
  const match = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(text);
  if (match === null) return [text];
  const [, before, inside, after] = match;
  return inside!.split(",").flatMap((part) => expandBraces(`${before}${part.trim()}${after}`));
}

/** Names in a cell of a table or in a list: `a / b (text), c.{d, e}`. */
function namesIn(text: string): string[] {
  const plain = text.replace(/\([^)]*\)/g, " ").replaceAll("`", "");
  return expandAll(plain).map((name) => name.trim().replace(/\.$/, ""))
    .filter((name) => /^[a-z_][a-z0-9_.]*[a-z0-9_]$/i.test(name) || name === "r")
    .filter((name) => !NO_KEYS.has(name));
}

/** Splits at commas, slashes and spaces outside of braces, then expands the braces. */
function expandAll(text: string): string[] {
  const parts: string[] = [];
  let depth = 0, part = "";
  for (const character of text) {
    if (character === "{") depth++;
    if (character === "}") depth--;
    if (depth === 0 && /[,/\s]/.test(character)) {
      parts.push(part);
      part = "";
    } else part += character;
  }
  return [...parts, part].flatMap(expandBraces);
}

interface PageKeys {
  keys: { section: string; name: string }[];
  accepted: string[];
  refused: string[];
  aliases: string[];
}

function readPage(page: string): PageKeys {
  const section = (n: number) => page.split(`\n## ${n}. `)[1]!.split(/\n## \d/)[0]!;
  const rows = (text: string) =>
    text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
      .slice(1).map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  const keys: PageKeys["keys"] = [];
  const add = (where: string, cell: string) => {
    for (const name of namesIn(cell)) keys.push({ section: where, name });
  };
  for (const row of [...rows(section(1)), ...rows(section(2))]) add("training", row[0]!);
  add("training", "activation_checkpointing, activation_checkpointing_kwargs, evaluation_strategy");
  for (const row of rows(section(3))) {
    add("model", row[0]!);
    add("lora", row[3]!.replace("lora.enabled", "enabled"));
  }
  for (const row of rows(section(4))) add("", row[0]!);
  const prose = (text: string, from: string, to: string) =>
    namesIn(text.split(from)[1]!.split(to)[0]!.replaceAll("\n", " "));
  const lora = prose(section(3), "Refused unless at the default: ", "init_lora_weights other")
    .filter((name) => name !== "_config");
  return {
    keys,
    accepted: [
      ...prose(section(1), "(they steer other engines): ", "\nRefused"),
      ...prose(section(3), "Ignored: ", "\n").map((name) => `lora.${name}`),
    ],
    refused: [
      ...prose(section(1), "(they would change results): ", "`model_init_kwargs`"),
      ...lora.map((name) => `lora.${name}`),
      ..."loftq eva corda lora_ga velora monteclora arrow kasa".split(" ")
        .map((name) => `lora.${name}_config`),
    ],
    aliases: rows(section(5).split("\nverl keys")[0]!).flatMap((row) =>
      withPrefixes(
        namesIn(
          row[0]!.replace("[] {name, scaling_factor, kwargs}", "").replace(/rewards\[\].*/, "")
            .replace(/ (with|token-mean) .*/, ""),
        ).filter((name) => !["path", "list", "of", "paths", "or", "map", "name"].includes(name)),
      )
    ),
  };
}

/** `a.b.c / d` stands for a.b.c and a.b.d, where d alone is nothing. */
function withPrefixes(names: string[]): string[] {
  let prefix = "";
  return names.map((name) => {
    if (name.includes(".")) prefix = name.slice(0, name.lastIndexOf(".") + 1);
    return meaningOf(name).kind === "unknown" ? prefix + name : name;
  });
}

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
  "1024",
  "steps",
  "batch",
  "sequence",
  "grpo",
  "cosine",
  "left",
  "normalize_then_sum",
  "all-linear",
  "seq-mean-token-mean",
  "bfloat16",
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
  "f.yaml",
];

/** What has to be written beside a key, so that it can be taken. */
const BESIDE: Record<string, string> = {
  no_trackio: "report_to: trackio\n",
  use_wandb: "report_to: trackio\n",
  use_trackio: "report_to: wandb\n",
  load_in_4bit: "use_peft: true\n",
  load_in_8bit: "use_peft: true\n",
  lr_scheduler_kwargs: "lr_scheduler_type: cosine_with_min_lr\n",
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

/** Two loadable documents: with problems of a task, and of a file. */
const DOCUMENTS = ["task: chain_sum", "dataset_name: f.jsonl"].map((source) =>
  MINIMAL.replace("model: m", "model_name: m").replace("task: chain_sum", source)
);

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
        const without = await load(base, {}, files).catch(() => null);
        const changed = JSON.stringify(without?.config) !== JSON.stringify(loaded.config);
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

const page = await Deno.readTextFile(PAGE).catch(() => null);
if (page === null) console.warn("skipped: the reference page of the configuration is not here");

Deno.test({
  name:
    "every key of the reference page has an effect, a note or a refusal, flat and in its section",
  ignore: page === null,
  async fn() {
    const { keys } = readPage(page!);
    assert.ok(keys.length > 150, `only ${keys.length} keys were found on the page`);
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

Deno.test({
  name: "what the reference page lists as accepted is noted, what it lists as refused is refused",
  ignore: page === null,
  async fn() {
    const { accepted, refused } = readPage(page!);
    assert.ok(accepted.length > 80 && refused.length > 20, `${accepted.length} ${refused.length}`);
    for (const name of accepted) {
      assert.ok(WITHOUT_EFFECT.has(name), `${name} is not accepted`);
      assert.deepEqual([...await outcomes(name, name)], ["noted"], name);
    }
    for (const name of refused) {
      assert.ok(FOREIGN_KEYS.has(name), `${name} is not refused`);
      const lines = await errorsOf(MINIMAL + nest(name)("[odd]") + "\n");
      assert.ok(lines.some((line) => line.includes("not supported")), `${name}: ${lines}`);
    }
  },
});

Deno.test({
  name: "every spelling of the alias map is understood",
  ignore: page === null,
  async fn() {
    const { aliases } = readPage(page!);
    assert.ok(aliases.length > 80, `only ${aliases.length} aliases were found on the page`);
    const silent: string[] = [];
    for (const name of aliases) {
      const last = name.split(".").at(-1)!;
      const known = meaningOf(name).kind;
      assert.ok(!["unknown", "misplaced"].includes(known), `${name}: ${known}`);
      if (known === "prefix") continue;
      if ((await outcomes(last, name)).size === 0) silent.push(name);
    }
    assert.deepEqual(silent, [], "these do nothing and say nothing");
  },
});
