/**
 * Whatever a file, an override or an environment variable contains, reading it ends with a
 * configuration or with an error of usage (exit code 2). Texts are made from the grammar of the
 * format, from whole configurations that are damaged, and from random characters.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { RgxError } from "../core/errors.ts";
import { LISTED } from "./foreign/foreign_keys.ts";
import { loadConfig, type LoadedConfig } from "./load.ts";
import { KEYS } from "./reading/key_names.ts";
import { MINIMAL, withFiles } from "./testing.ts";
import { cases } from "../tests/cases.ts";

const RUNS = { numRuns: cases(300), seed: 4 };
/** Some times the longest message and configuration that the texts below lead to. */
const MAX_CHARACTERS = 20_000;

const NAMES = [
  ...[...KEYS].flatMap(([path, { aliases }]) => [path, path.split(".").at(-1)!, ...aliases]),
  ...LISTED.keys(),
  ..."model lora training data logging eval sft rewards env defaults _base_ _delete_ x << name"
    .split(" "),
  ..."actor_rollout_ref trainer reward generation quantization weight path net 0 __proto__".split(
    " ",
  ),
  ..."constructor toString reward_weights generation_kwargs lr_scheduler_kwargs task_config".split(
    " ",
  ),
  "",
  "a b",
  "größe",
];

const SCALARS = [
  ..."1 -1 0 0.5 1e400 -1e-400 .nan .inf true false null ~ x no steps epoch best left none".split(
    " ",
  ),
  ..."8 16 512 1e-6 9007199254740993 0x1f 0o7 1_000 12:30 2024-01-01 chain_sum correctness".split(
    " ",
  ),
  ..."dapo cispo cosine polynomial wandb jsonl all-linear base ./f.yaml ../f.yaml rgx:base.yaml"
    .split(" "),
  ..."quickstart accuracy eval_loss Infinity NaN __proto__ constructor [] {} '' \"\"".split(" "),
  "${beta}",
  "${training.beta}",
  "${",
  "${oc.env:X}",
  "${oc.env:X,7}",
  "${env:NONE}",
  "{{ fileBasenameNoExtension }}",
  "\\${x}",
  "&a 1",
  "*a",
  "!!str 1",
  "!!binary aGk=",
  "|\n  text",
];

const name = fc.constantFrom(...NAMES);
const scalar = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SCALARS) },
  { weight: 1, arbitrary: fc.double().map(String) },
  { weight: 1, arbitrary: fc.integer().map(String) },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text)) },
);

/** A value in YAML's flow style. */
const value = fc.letrec<{ value: string; list: string; map: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, { weight: 4, arbitrary: scalar }, tie("list"), tie("map")),
  list: fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(", ")}]`),
  map: fc.array(fc.tuple(name, tie("value")), { maxLength: 4 }).map((entries) =>
    `{${entries.map(([key, item]) => `${JSON.stringify(key)}: ${item}`).join(", ")}}`
  ),
})).value;

const lines = fc.array(fc.tuple(name, value), { maxLength: 8 }).map((entries) =>
  entries.map(([key, item]) => `${key}: ${item}\n`).join("")
);

/** A document that would load, with a few more lines. */
const nearlyRight = lines.map((text) => MINIMAL + text);

/** A text with characters removed, inserted and exchanged. */
const damaged = fc.tuple(
  nearlyRight,
  fc.array(
    fc.tuple(
      fc.nat(400),
      fc.nat(6),
      fc.constantFrom(..."{}[]:,-&*!|>'\"%@`# \n\t\0\u2028\ufeff1a$?~<"),
    ),
    { minLength: 1, maxLength: 6 },
  ),
).map(([text, edits]) =>
  edits.reduce((whole, [at, out, put]) => {
    const i = at % (whole.length + 1);
    return whole.slice(0, i) + put + whole.slice(i + out);
  }, text)
);

const noise = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.array(fc.constantFrom(..."{}[]:,-&*!|>'\"%@`# \n\tab1$"), { maxLength: 50 })
    .map((characters) => characters.join("")),
);

const document = fc.oneof(
  { weight: 3, arbitrary: nearlyRight },
  { weight: 2, arbitrary: lines },
  { weight: 2, arbitrary: damaged },
  { weight: 1, arbitrary: noise },
);

const override = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom("", "+", "++"), name, value).map((p) =>
      `${p[0]}${p[1]}=${p[2]}`
    ),
  },
  { weight: 1, arbitrary: name.map((key) => `~${key}`) },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.nat(3), name, value).map(([a, i, b, v]) => `${a}.${i}.${b}=${v}`),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.constantFrom("=", " "), value).map(([key, sign, v]) =>
      `--${key.replaceAll("_", "-")}${sign}${v}`
    ),
  },
  { weight: 1, arbitrary: name.map((key) => `--no-${key.replaceAll("_", "-")}`) },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
).map((text) =>
  /^--\S+ /.test(text) ? [text.split(" ")[0]!, text.slice(text.indexOf(" ") + 1)] : [text]
);

async function ends(
  cwd: string,
  overrides: string[],
  env: Record<string, string>,
): Promise<LoadedConfig | null> {
  let loaded: LoadedConfig | null = null;
  try {
    loaded = await loadConfig("f.yaml", { cwd, overrides, env });
  } catch (error) {
    if (!(error instanceof RgxError) || error.exitCode !== 2) throw error;
    assert.ok(error.message.length > 0 && error.message.length < MAX_CHARACTERS, error.message);
    assert.doesNotMatch(error.message, /\[object Object\]|undefined/);
  }
  assert.ok((loaded?.yaml.length ?? 0) < MAX_CHARACTERS, "the configuration has grown");
  return loaded;
}

Deno.test("300 texts of configurations: each loads or is an error of usage", () =>
  withFiles({ "other.yaml": "beta: 0.1\n" }, async (cwd) => {
    let loaded = 0;
    await fc.assert(
      fc.asyncProperty(document, async (text) => {
        await Deno.writeTextFile(join(cwd, "f.yaml"), text);
        const first = await ends(cwd, [], {});
        if (first === null) return;
        loaded++;
        // The configuration that is written beside a run is enough to repeat it, but for a token.
        first.config.training.hub_token = null;
        await Deno.writeTextFile(join(cwd, "g.yaml"), first.yaml);
        assert.deepEqual((await loadConfig("g.yaml", { cwd })).config, first.config);
      }),
      RUNS,
    );
    assert.ok(loaded > RUNS.numRuns / 100, `only ${loaded} loaded: the texts test too little`);
  }));

Deno.test("300 lists of overrides: each is taken, or is refused as a mistake of the user", () =>
  withFiles(
    { "f.yaml": MINIMAL + "lora: {r: 4}\ndata: {task_config: {min_terms: 2}}\n" },
    async (cwd) => {
      let loaded = 0;
      const environment = fc.dictionary(
        name.map((key) => "RGX_" + key.toUpperCase().replaceAll(".", "__")),
        scalar,
        { maxKeys: 1 },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(override, { maxLength: 3 }), environment, async (list, env) => {
          if (await ends(cwd, list.flat(), { ...env }) !== null) loaded++;
        }),
        RUNS,
      );
      assert.ok(
        loaded > RUNS.numRuns / 100,
        `only ${loaded} were taken: the overrides test too little`,
      );
    },
  ));
