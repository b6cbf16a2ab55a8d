/** Uploads to the Hub. */

/** Uploads of transformers' trainer. */
export interface HubSection {
  /** Upload the model to the Hub while it trains and at the end (docs/upload.md). */
  push_to_hub: boolean;
  /** USER/NAME of the repository, or NAME; null = the name of output_dir. */
  hub_model_id: string | null;
  /** A token that may write, in place of HF_TOKEN; never written to a file. */
  hub_token: string | null;
  /** Whether a repository that is made is private; null = the default of the account. */
  hub_private_repo: boolean | null;
  /**
   * What push_to_hub uploads: the model at the end; at every save too; with the newest checkpoint
   * in last-checkpoint/; with every checkpoint.
   */
  hub_strategy: "end" | "every_save" | "checkpoint" | "all_checkpoints";
  /** Branch of the repository; null = main. */
  hub_revision: string | null;
}

/** The upload after a run, as reasoning-gym's recipes have it. */
export interface HfUploadSection {
  /** Upload the model to the Hub when the run is complete. */
  enabled: boolean;
  /** USER/NAME of the repository, or NAME. */
  repo_id: string | null;
  /** full: with all that a resume needs; null: only the model. */
  optimizer_save_mode: "full" | null;
  /** Whether a repository that is made is private; null = the default of the account. */
  private: boolean | null;
  /** Branch of the repository; null = main. */
  revision: string | null;
  /** Licence for the card, as in apache-2.0. */
  license: string | null;
}
