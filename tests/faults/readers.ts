/**
 * Damaged files for the readers that have no such test beside them, as those of models, data and
 * configurations have. Each must be read, or refused with an RgxError of a readable length, within
 * some seconds and without a promise that nobody handles.
 */
import assert from "node:assert/strict";
import { readResultFile } from "../../bench/results/result_file.ts";
import { SampleStore } from "../../bench/results/sample_store.ts";
import { RgxError } from "../../core/errors.ts";
import { RandomStream } from "../../core/philox.ts";
import { parseTorchFile } from "../../models/formats/torch/torch_file.ts";
import { compileChatTemplate } from "../../models/tokenizers/chat_template.ts";
import { findRuns } from "../../reports/dashboard/reading/find_runs.ts";
import { readRunDetails, readRunInfo } from "../../reports/dashboard/reading/run_state.ts";
import { readRunRecord } from "../../reports/run_report/run_record.ts";
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

const TEMPLATE = `{%- macro say(x) %}{{ x | trim }}{% endmacro -%}
{%- set ns = namespace(n=0) %}{% for m in messages if m.role != "x" %}{% set ns.n = ns.n + 1 %}
{{- "<|" ~ m["role"] ~ "|>" + say(m.content)[:90] }}{% if not loop.last %}, {% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ ns.n // 2 }}
{{- tools | tojson(indent=2) }}{% endif %}`;

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
  const ofRun = (name: string): Record<string, Reader> => ({
    [name]: {
      whole: Deno.readFileSync(goldenPath(`versions/run-1/${name}`)),
      read: (bytes, path) => readRunFolder(path, name, bytes),
      isSlow: true,
    },
  });
  return {
    ...ofRun("run.json"),
    ...ofRun("metrics.jsonl"),
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
    "chat_template.jinja": {
      whole: bytesOf(TEMPLATE),
      read: (bytes) => {
        const template = compileChatTemplate(textOf(bytes), { bos_token: "<s>" }, "x");
        template.render([{ role: "user", content: " Hi " }, { role: "assistant", content: "a" }]);
      },
    },
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
