/** Keys of uploads to the Hugging Face Hub: those of transformers, and the section `hf_upload`. */
import { keys } from "../types/key_spec.ts";

export const HUB_KEYS = keys({}, {
  push_to_hub: `bool = false -- upload the model to the Hub while it trains and at the end
    (docs/upload.md)`,
  hub_model_id: `name? = null -- USER/NAME of the repository, or NAME; null = the name of
    output_dir [training.push_to_hub_model_id, push_to_hub_model_id]`,
  hub_token: `name? = null -- a token that may write, in place of HF_TOKEN; never written to a
    file [training.push_to_hub_token, push_to_hub_token]`,
  hub_private_repo: `bool? = null -- whether a repository that is made is private; null = the
    default of the account`,
  hub_strategy: `one end|every_save|checkpoint|all_checkpoints = every_save -- what push_to_hub
    uploads: the model at the end; at every save too; with the newest checkpoint in
    last-checkpoint/; with every checkpoint`,
  hub_revision: "name? = null -- branch of the repository; null = main",
});

export const HF_UPLOAD = {
  path: "hf_upload",
  flat: false,
  isOptional: true as const,
  keys: keys({}, {
    enabled: "bool = false -- upload the model to the Hub when the run is complete",
    repo_id: "name? = null -- USER/NAME of the repository, or NAME",
    optimizer_save_mode: `one full? = full -- full: with all that a resume needs; null: only the
      model`,
    private: `bool? = false -- whether a repository that is made is private; null = the default of
      the account`,
    revision: "name? = null -- branch of the repository; null = main",
    license: "name? = null -- licence for the card, as in apache-2.0",
  }),
};
