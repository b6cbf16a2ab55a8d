/** Writers of a trained model's files, in the format of Hugging Face or PEFT. */
import type { CausalLM } from "../../models/causal_lm.ts";
import { encodeModelFolder } from "../../models/formats/model_folder_files.ts";
import { encodePeftAdapter, type PeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import type { ModelWriter } from "../checkpoint/checkpoint_files.ts";
import type { ModelSource } from "./model_source.ts";

/** Writes the adapter alone. */
export function adapterWriter(model: CausalLM, config: PeftConfig): ModelWriter {
  return {
    weightsFile: "adapter_model.safetensors",
    async files() {
      const tensors = [];
      for (const { name, shape } of model.trainable) {
        tensors.push({ name, shape, data: await model.readParameter(name) });
      }
      return encodePeftAdapter(config, tensors);
    },
  };
}

/** Writes the whole model. */
export function fullWriter(model: CausalLM, from: ModelSource): ModelWriter {
  return {
    weightsFile: "model.safetensors",
    async files() {
      const tensors = [];
      for (const { name, shape } of model.parameters) {
        tensors.push({ name, shape, data: await model.readParameter(name) });
      }
      return encodeModelFolder({
        config: from.config,
        tensors,
        tokenizer: from.tokenizer,
        generationEosIds: from.eosIds,
        bosId: from.bosId,
        padId: from.padId,
      });
    },
  };
}
