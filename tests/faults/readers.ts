/**
 * Damaged files for every reader. Each must be read, or refused with an RgxError of a readable
 * length, within some seconds and without a promise that nobody handles.
 */
import assert from "node:assert/strict";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import { readResultFile } from "../../bench/results/result_file.ts";
import { SampleStore } from "../../bench/results/sample_store.ts";
import { loadConfig } from "../../configs/load.ts";
import { RgxError } from "../../core/errors.ts";
import { parseJsonObject } from "../../core/json_file.ts";
import { RandomStream } from "../../core/philox.ts";
import { readEntries } from "../../data/open_problems.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import { parseGguf } from "../../models/formats/gguf/gguf.ts";
import { ggufConfig } from "../../models/formats/gguf/gguf_config.ts";
import { ggufRopeScaling } from "../../models/formats/gguf/rope_scaling.ts";
import { ggufTokenizer } from "../../models/formats/gguf/gguf_tokenizer.ts";
import { encodeTestGguf } from "../../models/formats/gguf/testing.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import { encodeSafetensors } from "../../models/formats/safetensors/safetensors_writer.ts";
import { parseTorchFile } from "../../models/formats/torch/torch_file.ts";
import { readPeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import { compileChatTemplate } from "../../models/tokenizers/chat_template.ts";
import { tokenizerFromFiles } from "../../models/tokenizers/tokenizer.ts";
import { findRuns } from "../../reports/dashboard/reading/find_runs.ts";
import { readRunDetails, readRunInfo } from "../../reports/dashboard/reading/run_state.ts";
import { readRunRecord } from "../../reports/run_report/run_record.ts";
import { decodeState } from "../../training/checkpoint/run_state.ts";
import { RolloutBuffer } from "../../training/step/rollout_buffer.ts";
import { goldenPath, readGoldenJson } from "../golden.ts";
import type { Campaign } from "./campaign.ts";

/** A reader: a whole file of its kind, and what reads it, as bytes or from its path. */
interface Reader {
  whole: Uint8Array;
  read(bytes: Uint8Array, path: string): unknown;
  /** It reads a whole folder, so fewer are tried. */
  isSlow?: boolean;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Longest time for one file, in milliseconds, on a machine that others use, too. */
const LIMIT = 20_000;

const QUESTIONS = Array.from({ length: 9 }, (_, i) => ({
  question: `${i}, "${i}" + é =`,
  answer: `${i}`,
  tags: [{ a: [i, null] }],
}));
const LINES = bytesOf(QUESTIONS.map((row) => JSON.stringify(row)).join("\n"));
const PARQUET = (codec: "UNCOMPRESSED" | "SNAPPY") =>
  new Uint8Array(parquetWriteBuffer({
    codec,
    rowGroupSize: 4,
    columnData: [
      { name: "question", data: QUESTIONS.map(({ question }) => question), type: "STRING" },
      { name: "answer", data: QUESTIONS.map(({ answer }) => answer), type: "STRING" },
      { name: "tags", data: QUESTIONS.map(({ tags }) => tags), type: "JSON" },
      { name: "score", data: QUESTIONS.map((_, i) => i / 3), type: "DOUBLE" },
    ],
  }));

const GGUF = encodeTestGguf({
  "general.architecture": ["string", "llama"],
  "llama.block_count": ["u32", 1],
  "llama.embedding_length": ["u32", 8],
  "llama.feed_forward_length": ["u32", 16],
  "llama.attention.head_count": ["u32", 2],
  "llama.attention.layer_norm_rms_epsilon": ["f32", 1e-5],
  "tokenizer.ggml.model": ["string", "gpt2"],
  "tokenizer.ggml.pre": ["string", "gpt-2"],
  "tokenizer.ggml.tokens": ["string", ["a", "b", "ab", "</s>", "Ġ"]],
  "tokenizer.ggml.token_type": ["i32", [1, 1, 1, 3, 1]],
  "tokenizer.ggml.merges": ["string", ["a b"]],
  "tokenizer.ggml.eos_token_id": ["u32", 3],
}, [
  { name: "token_embd.weight", shape: [5, 8], typeId: 0, data: new Uint8Array(160).fill(7) },
  { name: "b", shape: [2, 32], typeId: 8, data: new Uint8Array(68).fill(0x3c) },
  { name: "k", shape: [256], typeId: 12, data: new Uint8Array(144).fill(0x31) },
]);

/** A generation batch in a checkpoint. */
const ROLLOUT = new RolloutBuffer(
  3,
  2,
  [0, 1, 2, 3].map((i) => ({
    group: i >> 1,
    promptId: 40 + (i >> 1),
    branch: i % 2,
    promptIds: [5, 6, 7 + (i >> 1)],
    ids: Array.from({ length: i + 1 }, (_, t) => t),
    advantage: i - 1.5,
    oldLogp: null,
  })),
).encode();

const TOKENIZER = {
  added_tokens: [{ id: 3, content: "</s>", special: true, normalized: false }],
  normalizer: { type: "NFC" },
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false },
  decoder: { type: "ByteLevel" },
  model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2, "</s>": 3, "Ġ": 4 }, merges: ["a b"] },
};

const TEMPLATE = `{%- macro say(x) %}{{ x | trim }}{% endmacro -%}
{%- set ns = namespace(n=0) %}{% for m in messages if m.role != "x" %}{% set ns.n = ns.n + 1 %}
{{- "<|" ~ m["role"] ~ "|>" + say(m.content)[:90] }}{% if not loop.last %}, {% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ ns.n // 2 }}
{{- tools | tojson(indent=2) }}{% endif %}`;

const CONFIG = `# a run
model: {model_name_or_path: m, init: ~}
task: chain_sum
rewards: [{name: correctness, weight: 0.5}, format_answer]
training: {learning_rate: 1e-3, max_steps: 5, loss_type: dapo} # how
env: {X: "1"}
data: {task_config: {min_terms: 2}}
`;

function useTokenizer(files: ReadonlyMap<string, string>): void {
  const tokenizer = tokenizerFromFiles(files, "t"), ids = tokenizer.encode("ab ba</s> é");
  assert.ok(ids.every(Number.isInteger));
  tokenizer.decode(ids, { skipSpecialTokens: true });
}

/** What a run's folder of another user may hold. */
async function readRunFolder(path: string, name: string, bytes: Uint8Array): Promise<void> {
  const folder = `${path}.folder`;
  await Deno.mkdir(folder, { recursive: true });
  try {
    for (const other of ["run.json", "metrics.jsonl", "config.yaml"]) {
      await Deno.copyFile(goldenPath(`versions/run-1/${other}`), `${folder}/${other}`);
    }
    await Deno.writeFile(`${folder}/${name}`, bytes);
    for (const found of (await findRuns([folder])).runs) {
      await readRunDetails(await readRunInfo(found));
    }
    await readRunRecord(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** All readers, by the name of a file that each reads. */
function allReaders(): Record<string, Reader> {
  const table = (end: string, whole: Uint8Array): Record<string, Reader> => ({
    [end]: {
      whole,
      read: async (_, path) => {
        for (const { question } of await readEntries(path)) assert.equal(typeof question, "string");
      },
    },
  });
  const ofRun = (name: string): Record<string, Reader> => ({
    [name]: {
      whole: Deno.readFileSync(goldenPath(`versions/run-1/${name}`)),
      read: (bytes, path) => readRunFolder(path, name, bytes),
      isSlow: true,
    },
  });
  const delimited = (by: string) =>
    bytesOf(
      `question${by}answer\n` + QUESTIONS.map(({ question, answer }) => {
        return `"${question.replaceAll('"', '""')}"${by}${answer}\r\n`;
      }).join(""),
    );
  return {
    ...table("lines.jsonl", LINES),
    ...table("lines.jsonl.gz", gzipSync(LINES)),
    ...table("lines.jsonl.zst", zstdCompressSync(LINES)),
    ...table("list.json", bytesOf(JSON.stringify(QUESTIONS))),
    ...table("table.csv", delimited(",")),
    ...table("table.tsv", delimited("\t")),
    ...table("plain.parquet", PARQUET("UNCOMPRESSED")),
    ...table("packed.parquet", PARQUET("SNAPPY")),
    ...ofRun("run.json"),
    ...ofRun("metrics.jsonl"),
    "model.safetensors": {
      whole: encodeSafetensors([
        { name: "a.b", dtype: "F32", shape: [3, 4], data: new Float32Array(12).fill(2) },
        { name: "half", dtype: "BF16", shape: [2, 1], data: new Float32Array([1.5, -3]) },
        { name: "step", dtype: "I64", shape: [], data: new BigInt64Array([7n]) },
      ]),
      read: async (bytes) => {
        const file = await parseSafetensors(bytes, "x");
        for (const { name, dtype } of file.tensors.values()) {
          const { length } = await file.bytes(name);
          assert.ok(length < bytes.length, "more than the file holds");
          await (dtype === "I64" ? file.integers(name) : file.floats(name));
        }
      },
    },
    "model.gguf": {
      whole: GGUF,
      read: async (bytes) => {
        const file = await parseGguf(bytes, "x");
        for (const { name } of file.tensors.values()) await file.float32(name);
        const tokenizer = ggufTokenizer(file);
        if (tokenizer !== null) useTokenizer(tokenizer.files);
        const tokens = { bosId: null, eosIds: [3], padId: null };
        readHfConfig(ggufConfig(file, tokens, await ggufRopeScaling(file)), "x");
      },
    },
    "pytorch_model.bin": {
      whole: Uint8Array.from(
        atob(readGoldenJson<{ zip: string }>("torch_files.json").zip),
        (c) => c.charCodeAt(0),
      ),
      read: async (bytes) => {
        const file = await parseTorchFile(bytes, "x");
        for (const name of file.tensors.keys()) {
          await (name === "mask" ? file.bytes(name) : file.floats(name));
        }
      },
    },
    "rollout.safetensors": {
      whole: ROLLOUT,
      read: (bytes) => RolloutBuffer.decode(bytes, "x"),
    },
    "rgx_state.json": {
      whole: Deno.readFileSync(goldenPath("versions/run-1/checkpoint-2/rgx_state.json")),
      read: (bytes) => decodeState(textOf(bytes), "x"),
    },
    "tokenizer.json": {
      whole: bytesOf(JSON.stringify(TOKENIZER)),
      read: (bytes) => useTokenizer(new Map([["tokenizer.json", textOf(bytes)]])),
    },
    "chat_template.jinja": {
      whole: bytesOf(TEMPLATE),
      read: (bytes) => {
        const template = compileChatTemplate(textOf(bytes), { bos_token: "<s>" }, "x");
        template.render([{ role: "user", content: " Hi " }, { role: "assistant", content: "a" }]);
      },
    },
    "config.json": {
      whole: Deno.readFileSync(goldenPath("tiny-models/llama3/config.json")),
      read: (bytes) => readHfConfig(parseJsonObject(textOf(bytes), "x"), "x"),
    },
    "adapter_config.json": {
      whole: bytesOf(JSON.stringify({
        peft_type: "LORA",
        r: 8,
        lora_alpha: 16,
        target_modules: ["q_proj", "v_proj"],
        rank_pattern: { "layers.0.q_proj": 4 },
        use_dora: false,
      })),
      read: (bytes) => readPeftConfig(parseJsonObject(textOf(bytes), "x"), "x"),
    },
    "run.yaml": { whole: bytesOf(CONFIG), read: (_, path) => loadConfig(path) },
    "results.json": {
      whole: Deno.readFileSync(goldenPath("versions/results-1.json")),
      read: (_, path) => readResultFile(path),
    },
    "samples_x.jsonl": {
      whole: Deno.readFileSync(goldenPath("versions/samples-1.jsonl")),
      read: async (bytes, path) => {
        const folder = `${path}.folder`;
        await Deno.mkdir(folder);
        await Deno.writeFile(`${folder}/samples_20260101_000000.jsonl`, bytes);
        try {
          (await SampleStore.open(folder, { resume: true })).close();
        } finally {
          await Deno.remove(folder, { recursive: true });
        }
      },
    },
  };
}

/** Texts with a meaning in some format. */
const PIECES = [
  ...'0 -1 1e400 NaN null true [] {} " \\ , : {{ }} {% %} ${x} &a *a <<: __proto__ \ud83d'.split(
    " ",
  ),
  "[".repeat(3000),
  '{"a":'.repeat(3000),
  "9".repeat(400),
  "a".repeat(70_000),
  "\n",
  "\0",
  "(((a+)+)+)+$",
].map(bytesOf);
const BYTES = [0, 1, 0x7f, 0x80, 0xff, 10, 13, 34, 44, 92, 0x5b, 0x7b, 0x7d, 0xed, 0xa0, 0xf0];

/** A file with one to four places changed, cut out, doubled or filled. */
function damaged(whole: Uint8Array, random: RandomStream): Uint8Array {
  let bytes: Uint8Array = whole;
  const splice = (at: number, out: number, put: ArrayLike<number>) => {
    const made = new Uint8Array(bytes.length - out + put.length);
    made.set(bytes.subarray(0, at));
    made.set(put, at);
    made.set(bytes.subarray(at + out), at + put.length);
    bytes = made;
  };
  for (let n = random.int(1, 4); n > 0; n--) {
    const { length } = bytes, at = random.int(0, length), left = length - at;
    const some = Math.min(left, random.choice([1, 1, 4, 8, random.int(1, 60)]));
    const kind = random.int(0, 6);
    if (kind <= 1) splice(at, Math.min(1, left), [random.choice([...BYTES, random.int(0, 255)])]);
    else if (kind === 2) splice(at, some, []);
    else if (kind === 3) splice(at, 0, bytes.slice(at, at + some));
    else if (kind === 4) splice(at, random.chance(0.5) ? some : 0, random.choice(PIECES));
    else if (kind === 5) splice(at, Math.min(left, 8), [random.int(0, 255), 0, 0, 0, 0, 0, 0, 0]);
    else if (random.chance(0.2)) splice(at, left, []);
  }
  return bytes;
}

/** Part of the campaign. */
export async function readers(campaign: Campaign): Promise<void> {
  const all = Object.entries(allReaders()), stray: unknown[] = [];
  const note = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    stray.push(event.reason);
  };
  addEventListener("unhandledrejection", note);
  for (const [name, { whole, read, isSlow }] of all) {
    const count = campaign.isShort ? 20 : isSlow ? 600 : 6_000;
    const what = `damaged files: ${name}`;
    let accepted = 0;
    for (let i = -1; i < count; i++) {
      const random = RandomStream.forPurpose(campaign.seed, "shuffle", `${name} ${i}`);
      const bytes = i < 0 ? whole : damaged(whole, random);
      const path = `${campaign.folder}/${i < 0 ? "whole" : i}_${name}`;
      await Deno.writeFile(path, bytes);
      await campaign.try(what, `case ${i} of seed ${campaign.seed}`, async () => {
        const begin = performance.now();
        try {
          await read(bytes, path);
          accepted++;
        } catch (error) {
          if (!(error instanceof RgxError) || i < 0) throw error;
          assert.ok(error.message.length < 20_000, `a message of ${error.message.length}`);
        }
        const time = performance.now() - begin;
        assert.ok(time < LIMIT, `it took ${Math.round(time)} ms`);
        assert.deepEqual(stray.splice(0), [], "promises without a handler");
      });
      await Deno.remove(path);
    }
    if (!campaign.isShort) console.error(`${name}: ${accepted} of ${count + 1} read`);
  }
  removeEventListener("unhandledrejection", note);
}
