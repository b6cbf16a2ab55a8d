/** Writers of a trained model's files, in the format of Hugging Face or PEFT. */
import type { CausalLM } from "../../models/causal_lm.ts";
import { modelFolderFiles } from "../../models/formats/model_folder_files.ts";
import { type StreamedTensor, tensorInParts } from "../../models/formats/tensor_stream.ts";
import { peftAdapterFiles, type PeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import type { Parameter } from "../../models/network/types.ts";
import type { ModelWriter } from "../checkpoint/checkpoint_files.ts";
import type { ModelSource } from "./model_source.ts";

/** Writes the adapter alone. */
export function adapterWriter(model: CausalLM, config: PeftConfig): ModelWriter {
  return {
    weightsFile: "adapter_model.safetensors",
    files: () => peftAdapterFiles(config, model.trainable.map(streamed(model))),
  };
}

/** Writes the whole model. */
export function fullWriter(model: CausalLM, from: ModelSource): ModelWriter {
  return {
    weightsFile: "model.safetensors",
    files: () =>
      modelFolderFiles({
        config: from.config,
        tokenizer: from.tokenizer,
        generationEosIds: from.eosIds,
        bosId: from.bosId,
        padId: from.padId,
      }, model.parameters.map(streamed(model))),
  };
}

/** A parameter as F32, whose values are read from the device when they are written. */
function streamed(model: CausalLM): (parameter: Parameter) => StreamedTensor {
  return ({ name, shape }) =>
    tensorInParts(
      { name, shape, dtype: "F32" },
      (from, count) => model.readParameter(name, from, count),
    );
}
