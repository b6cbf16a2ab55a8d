/**
 * The comments on the keys in configs/schema/sections/ are the meanings of the keys in the schema.
 * `deno task docs:config` writes them, so that each meaning is written once.
 */
import { ALGORITHM_KEYS } from "./algorithm_keys.ts";
import { CURRICULUM, DATA, EVAL, LOGGING, SFT } from "./data_keys.ts";
import { GENERATION } from "./generation_keys.ts";
import { HF_UPLOAD, HUB_KEYS } from "./hub_keys.ts";
import { LOOP_KEYS } from "./loop_keys.ts";
import { INIT, LORA, MODEL } from "./model_keys.ts";
import { SAMPLING_KEYS } from "./sampling_keys.ts";
import { SLURM } from "./slurm_keys.ts";
import type { KeySpec } from "../types/key_spec.ts";

type Keys = Readonly<Record<string, KeySpec>>;

/** File → interface → its keys. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, Keys>>>> = {
  "algorithm.ts": { AlgorithmSection: ALGORITHM_KEYS },
  "data.ts": { DataSection: DATA.keys, CurriculumSection: CURRICULUM.keys },
  "hub.ts": { HubSection: HUB_KEYS, HfUploadSection: HF_UPLOAD.keys },
  "loop.ts": {
    LoopSection: LOOP_KEYS,
    SftSection: SFT.keys,
    EvalSection: EVAL.keys,
    LoggingSection: LOGGING.keys,
  },
  "model.ts": { ModelSection: MODEL.keys, ModelInit: INIT.keys, LoraSection: LORA.keys },
  "sampling.ts": { SamplingSection: SAMPLING_KEYS, GenerationSection: GENERATION.keys },
  "slurm.ts": { SlurmSection: SLURM.keys },
};

/** A key of an interface, with the comment before it. */
const KEY = /^(?: {2}\/\*\*(?:(?!\*\/)[^])*\*\/\n)? {2}(\w+): /gm;

/** The text of each file of configs/schema/sections/ with its comments, by the file's name. */
export function commentedSections(read: (name: string) => string): Map<string, string> {
  return new Map(
    Object.entries(SECTIONS).map(([file, interfaces]) => {
      let text = read(file);
      for (const [name, keys] of Object.entries(interfaces)) {
        text = text.replace(
          new RegExp(`^export interface ${name} \\{\n[^]*?^\\}$`, "m"),
          (body) => withComments(body, keys),
        );
      }
      return [file, text];
    }),
  );
}

/** Fields that are no keys of their own, such as the sections in a section, keep their comments. */
function withComments(body: string, keys: Keys): string {
  return body.replace(KEY, (old, name: string) => {
    const spec = keys[name];
    return spec === undefined ? old : `${comment(sentence(spec.doc), "  ")}  ${name}: `;
  });
}

/** A meaning as a sentence. */
function sentence(text: string): string {
  // Names of keys and values stay as they are written.
  const begun = /^[a-z]+(-[a-z]+)*(?! =)([ ,;]|$)/.test(text)
    ? text[0]!.toUpperCase() + text.slice(1)
    : text;
  return /[.)]$/.test(begun) && begun.endsWith(".") ? begun : `${begun}.`;
}

/** A documentation comment of at most 100 columns. */
function comment(text: string, indent: string): string {
  const safe = text.replaceAll("*/", "* /").replaceAll("\n", " ");
  if (indent.length + safe.length + 8 <= 100) return `${indent}/** ${safe} */\n`;
  const lines = [""];
  for (const word of safe.split(" ")) {
    const line = lines.at(-1)!, longer = line === "" ? word : `${line} ${word}`;
    if (indent.length + longer.length + 3 <= 100) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}
