/**
 * The comments on the keys in configs/schema/sections/ are the meanings of the keys in the schema.
 * `deno task docs:config` writes them, so that each meaning is written once.
 */
import { ALGORITHM_KEYS } from "../schema/algorithm_keys.ts";
import { CURRICULUM, DATA, EVAL, LOGGING, SFT } from "../schema/data_keys.ts";
import { GENERATION } from "../schema/generation_keys.ts";
import { HF_UPLOAD, HUB_KEYS } from "../schema/hub_keys.ts";
import { LOOP_KEYS } from "../schema/loop_keys.ts";
import { INIT, LORA, MODEL } from "../schema/model_keys.ts";
import { SAMPLING_KEYS } from "../schema/sampling_keys.ts";
import { SLURM } from "../schema/slurm_keys.ts";
import type { KeySpec } from "../types/key_spec.ts";
import { comment, sentence } from "./write_types.ts";

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
