/**
 * Devices and models: loading, generation, log-probabilities, files, and the Hub.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createDevice,
 *   generate,
 *   generateTokens,
 *   loadModel,
 *   logprobs,
 *   TokenConstraint,
 *   train,
 * } from "@rgx/rgx";
 * const folder = await Deno.makeTempDir();
 * await train({
 *   config: "quickstart",
 *   overrides: {
 *     training: { output_dir: `${folder}/run`, max_steps: 1 },
 *     sft: { max_steps: 1 },
 *     eval: { num_examples: 2 },
 *   },
 *   device: "wasm",
 * });
 * using device = await createDevice("wasm"); // closed at the end of the block, as is the model
 * using loaded = await loadModel(`${folder}/run`, device);
 * const [texts] = await generate(loaded, ["Reverse the letters: deno"], { maxNewTokens: 4 });
 * assert.equal(typeof texts![0]!.text, "string");
 *
 * // Messages, for a model with a chat template; this one has none.
 * const chat = [[{ role: "user", content: "Reverse the letters: deno" }]];
 * await assert.rejects(generate(loaded, chat, { maxNewTokens: 4 }), /no chat template/);
 *
 * // Token by token, held to a form, and until a signal is aborted. Leaving the loop ends it too.
 * let answer = "";
 * const tokens = generateTokens(loaded, ["Is it? "], {
 *   structuredOutputs: { choice: ["yes", "no"] }, // or json (a schema), jsonObject, regex
 *   signal: AbortSignal.timeout(60_000),
 * });
 * for await (const { text } of tokens) answer += text;
 * assert.match(answer, /^(yes|no)$/);
 *
 * // The same in numbers: requests of token ids, as the server makes them.
 * const constraint = new TokenConstraint(
 *   { kind: "regex", pattern: "[ab]{2}" },
 *   loaded.tokenizer,
 *   loaded.model.vocabSize,
 * );
 * const sampling = { maxNewTokens: 4, temperature: 1, seed: 1, eosIds: loaded.eosIds, constraint };
 * const requests = [{ promptId: 0, promptIds: loaded.tokenizer.encode("deno"), n: 1 }];
 * const [held] = await loaded.model.generate(requests, sampling);
 * assert.match(loaded.tokenizer.decode(held![0]!.ids), /^[ab]{2}/);
 *
 * const ids = loaded.tokenizer.encode("deno");
 * const { logprobs: known, top } = await logprobs(loaded.model, ids, 3);
 * assert.deepEqual([known[0], known.length, top[1]!.length], [null, ids.length, 3]);
 * await Deno.remove(folder, { recursive: true });
 * ```
 *
 * The names that these functions take, as values:
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { ARCHITECTURE_NAMES, DEVICE_NAMES, EXPORT_TARGETS, WEIGHT_TYPES } from "@rgx/rgx";
 * assert.ok(ARCHITECTURE_NAMES.includes("qwen3") && DEVICE_NAMES.includes("webgpu"));
 * assert.ok(EXPORT_TARGETS.includes("gguf") && WEIGHT_TYPES.includes("q8_0"));
 * ```
 *
 * Changes of logits, for `LanguageModel.generate`.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { logitsProcessor } from "@rgx/rgx";
 * const adjust = logitsProcessor({ logitBias: new Map([[2, -100]]) }, 4)!;
 * const logits = new Float32Array(4);
 * adjust([], logits);
 * assert.deepEqual([...logits], [0, 0, -100, 0]);
 * ```
 *
 * Files of models, `pull` and `shareModel`: see docs/library.md.
 * @module
 */
export { createDevice, DEVICE_NAMES, type DeviceName } from "../kernels/mod.ts";
export type { GeneratorLimits } from "../models/generation/generate.ts";
export type { ComputeDtype } from "../kernels/ops/common/compute_dtype.ts";
export { ARCHITECTURE_NAMES, type ArchitectureName } from "../models/architectures/architecture.ts";
export type { ModelConfig } from "../models/architectures/model_config.ts";
export type { Parameter } from "../models/network/types.ts";
export type { AdapterInfo, Device } from "../kernels/device.ts";
export type { CausalLM } from "../models/causal_lm.ts";
export {
  type LoadedIdModel,
  type LoadedModel,
  loadModel,
  type LoadOptions,
} from "../models/load_model.ts";
export {
  generate,
  generateTokens,
  type Prompt,
  type StructuredOutputs,
  type TextCompletion,
  type TextOptions,
  type TextToken,
} from "../models/generate_text.ts";
export type { Generation } from "../models/generation/generation.ts";
export type { StorageOptions } from "../models/network/weights/weight_storage.ts";
export type { ActivationType } from "../models/network/types.ts";
export type {
  Completion,
  GenerateOptions,
  GenerateRequest,
  GenerationTiming,
  JoinedModel,
  SamplingOptions,
} from "../models/generation/types.ts";
export { logprobs, type SequenceLogprobs } from "../models/inspect/logprobs.ts";
export type { TopToken } from "../models/logits.ts";
export { type CallForm, type Form, TokenConstraint } from "../models/grammar/token_constraint.ts";
export type { LoadListener } from "../models/network/weights/load_weights.ts";
export type { LanguageModel } from "../models/language_model.ts";
export type { ChatEnding } from "../models/tokenizers/chat_template.ts";
export type { Written } from "../models/tokenizers/dialects/families.ts";
export type { Tokenizer } from "../models/tokenizers/types.ts";
export {
  logitsProcessor,
  type LogitsProcessorOptions,
} from "../models/generation/sampling/logits_processor.ts";

// Files of models (adapters, Hugging Face folders, GGUF) and the Hub.
export { type Exported, exportModel, type ExportOptions } from "../models/export/export.ts";
export { EXPORT_TARGETS, type ExportTarget } from "../models/export/export_targets.ts";
export { WEIGHT_TYPES, type WeightType } from "../models/formats/weight_types.ts";
export { convertModel } from "../models/export/convert.ts";
export { pull, type PullEvent, type PullOptions } from "../hub/pull.ts";
export type { Pulled, PulledFile } from "../hub/pull.ts";
export { shareModel, type ShareOptions } from "../reports/sharing/share_model.ts";
export type { Uploaded, UploadEvent } from "../hub/upload/upload.ts";
export type { Repository, RepositoryKind } from "../hub/repository.ts";
export type { Selection } from "../hub/choose_files.ts";
