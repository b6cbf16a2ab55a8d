/**
 * Devices and models: loading, generation, log-probabilities, files, and the Hub. docs/library.md
 * has examples. Requests in numbers, held to a form, with changed logits, as the server makes them:
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createDevice, loadModel, logitsProcessor } from "@rgx/rgx";
 * import { logprobs, TokenConstraint, train } from "@rgx/rgx";
 * const folder = await Deno.makeTempDir();
 * const overrides = {
 *   training: { output_dir: folder, max_steps: 1 },
 *   sft: { max_steps: 1 },
 *   eval: { num_examples: 0 },
 * };
 * await train({ config: "quickstart", overrides, device: "wasm" });
 * using device = await createDevice("wasm"); // closed at the end of the block, as is the model
 * using loaded = await loadModel(folder, device);
 * const { model, tokenizer, eosIds } = loaded, promptIds = tokenizer.encode("deno");
 * const form = { kind: "regex", pattern: "[ab]{2}" } as const;
 * const constraint = new TokenConstraint(form, tokenizer, model.vocabSize);
 * const logitBias = new Map([[tokenizer.encode("a")[0]!, -100]]);
 * const [held] = await model.generate([{ promptId: 0, promptIds, n: 1 }], {
 *   ...{ maxNewTokens: 4, temperature: 1, seed: 1, eosIds, constraint },
 *   adjust: logitsProcessor({ logitBias }, model.vocabSize)!,
 * });
 * assert.match(tokenizer.decode(held![0]!.ids), /^bb/);
 * const { logprobs: known, top } = await logprobs(model, promptIds, 3);
 * assert.deepEqual([known[0], known.length, top[1]!.length], [null, promptIds.length, 3]);
 * await Deno.remove(folder, { recursive: true });
 * ```
 * @module
 */
import type { CausalLM } from "../models/causal_lm.ts";

export { createDevice, DEVICE_NAMES, type DeviceName } from "../kernels/mod.ts";
export type { GeneratorLimits } from "../models/generation/generate.ts";
export type { ComputeDtype } from "../kernels/ops/common/compute_dtype.ts";
export { ARCHITECTURE_NAMES, type ArchitectureName } from "../models/architectures/architecture.ts";
export type { ModelConfig } from "../models/architectures/model_config.ts";
export type { Parameter } from "../models/network/types.ts";
export type { AdapterInfo, Device } from "../kernels/device.ts";
export type { CausalLM };
export {
  type LoadedIdModel,
  type LoadedModel,
  loadModel,
  type LoadOptions,
} from "../models/load_model.ts";
export * from "../models/generate_text.ts";
export type { Generation } from "../models/generation/generation.ts";
export type { StorageOptions } from "../models/network/weights/weight_storage.ts";
export type { ActivationType, KvCacheDtype } from "../models/network/types.ts";
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
/** Another name of {@link CausalLM}, which programs may use. */
export type LanguageModel = CausalLM;
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
export * from "../hub/pull.ts";
export { shareModel, type ShareOptions } from "../reports/sharing/share_model.ts";
export type { Uploaded, UploadEvent } from "../hub/upload/upload.ts";
export type { Repository, RepositoryKind } from "../hub/repository.ts";
export type { Selection } from "../hub/choose_files.ts";
