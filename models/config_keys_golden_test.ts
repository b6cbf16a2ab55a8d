/**
 * Every key of a config.json, changed one by one, against transformers
 * (tests/golden/config-keys): rgx computes the same logits, or refuses the key by name. So does a
 * checkpoint whose head or layers do not fit its configuration.
 */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { fnv1a } from "../core/philox.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import { assertWithin } from "../kernels/testing.ts";
import { readGoldenJson } from "../tests/golden.ts";
import { readHfConfig } from "./architectures/hf_config.ts";
import { fileTensors, LM_HEAD, modelTensors } from "./architectures/mod.ts";
import { CausalLM } from "./causal_lm.ts";
import { elementCount } from "./formats/element_count.ts";
import { encodeSafetensors } from "./formats/safetensors/safetensors_writer.ts";
import { readModelFolder } from "./model_folder.ts";

type Json = Record<string, unknown>;

interface Case {
  family: string;
  change: Json;
  /** The head in the file: one of its own, a copy of the embedding, or none. */
  head: "own" | "same" | "none";
  /** Tensors that only the changed model has. */
  extra?: Record<string, number[]>;
  /** Index of the logits; absent where transformers raised an error. */
  result?: number;
  error?: string;
}

interface Golden {
  tokens: number[];
  bases: Record<string, Json>;
  results: number[][];
  cases: Case[];
}

/** Recordings, with results of their own. */
const NAMES = ["cases", "families", "gemma2_lfm2", "qwen3_5", "gpt_oss", "gemma4"];
const RECORDED = NAMES.map((name) => readGoldenJson<Golden>(`config-keys/${name}.json`));
const bases: Record<string, Json> = Object.assign({}, ...RECORDED.map(({ bases }) => bases));

/** The values of a tensor, as record.py computes them. */
function valuesOf(name: string, shape: readonly number[]): Float32Array {
  const h = fnv1a(name);
  const isNorm = /((norm|ln_1|ln_2|ln_f)\.weight|layer_scalar)$/.test(name);
  const isTable = /(embed_tokens|wte|wpe)\.weight$/.test(name);
  return Float32Array.from({ length: elementCount(shape) }, (_, i) => {
    let x = Math.imul(i, 2654435761) + h >>> 0;
    x = Math.imul(x ^ x >>> 16, 2246822507);
    x = Math.imul(x ^ x >>> 13, 3266489909);
    const unit = ((x ^ x >>> 16) >>> 8) / 2 ** 24 - 0.5;
    return isNorm ? 1 + unit / 2 : isTable ? unit / 8 : unit / 2;
  });
}

function weightsOf({ family, head, extra }: Case): Uint8Array {
  const { modelConfig } = readHfConfig(bases[family]!, family);
  const own = modelTensors(modelConfig).map((tensor) => fileTensors(modelConfig, tensor)[0]!);
  const more = Object.entries(extra ?? {}).map(([name, shape]) => ({ name, shape }));
  const embedding = own[0]!.name;
  const tensors = [...own, ...more].filter(({ name }) => name !== LM_HEAD || head !== "none");
  return encodeSafetensors(tensors.map(({ name, shape }) => ({
    name,
    shape: [...shape],
    dtype: "F32" as const,
    data: valuesOf(name === LM_HEAD && head === "same" ? embedding : name, shape),
  })));
}

/** Logits by configuration and weights, as most keys change neither. */
const known = new Map<string, Promise<ArrayLike<number>>>();
/** What `model.safetensors` holds now. */
let written = "";

async function logitsOf(folder: string, one: Case): Promise<ArrayLike<number>> {
  const json = { ...bases[one.family], ...one.change };
  await Deno.writeTextFile(`${folder}/config.json`, JSON.stringify(json));
  const weights = JSON.stringify([folder, one.head, one.extra]);
  if (weights !== written) {
    await Deno.writeFile(`${folder}/model.safetensors`, weightsOf(one));
    written = weights;
  }
  const { config, files } = await readModelFolder(folder);
  const compute = async () => {
    const device = createReferenceDevice({ float: "f64" });
    const model = await CausalLM.create(device, config, files, { trainable: "none" });
    return await model.lastLogits(RECORDED[0]!.tokens);
  };
  const key = JSON.stringify([one.family, config, one.head, one.extra]);
  if (!known.has(key)) known.set(key, compute());
  return await known.get(key)!;
}

/** What errors say about keys that several of them, or the file, contradict. */
const BY_OTHER_WORDS = new RegExp(
  [
    /tensor "\S+" (has|\(expected) shape/,
    /more layers than|attention heads cannot share|positions; the model has|keys are not understood/,
    /impossible model: (headDim|rmsNormEps) is|a position takes 4 of 3 experts/,
    /full layers have|shares keys and values, but no layer of its type|some RoPE frequencies/,
    /layer_types has \d types, expected \d|no_rope_layers is \[1,0\], expected \d/,
  ].map(({ source }) => source).join("|"),
);

for (
  const [family, golden] of RECORDED.flatMap((golden) =>
    Object.keys(golden.bases).map((family) => [family, golden] as const)
  )
) {
  Deno.test(`each key of ${family}'s config.json is computed as transformers does, or refused`, async () => {
    const folder = await Deno.makeTempDir(), wrong: string[] = [];
    let equal = 0;
    for (const one of golden.cases.filter((c) => c.family === family)) {
      const what = JSON.stringify([one.change, one.head]);
      try {
        const found = await logitsOf(folder, one);
        if (one.result === undefined) continue;
        assertWithin(found, golden.results[one.result]!, 2e-5, what);
        equal++;
      } catch (error) {
        const { message } = error as Error, names = Object.keys(one.change);
        if (!(error instanceof RgxError)) wrong.push(message);
        // A family has no place for the keys of another one.
        else if (names.includes("model_type")) continue;
        else if (!names.some((name) => message.includes(name)) && !BY_OTHER_WORDS.test(message)) {
          wrong.push(`${what}: ${message}`);
        }
      }
    }
    await Deno.remove(folder, { recursive: true });
    assert.deepEqual(wrong, []);
    assert.ok(equal > 90, `only ${equal} are computed`);
  });
}
