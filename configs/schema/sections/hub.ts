/** Uploads to the Hub. */

/** Uploads of transformers' trainer. */
export interface HubSection {
  /** Whether the model is uploaded while it trains and at the end. */
  push_to_hub: boolean;
  /** null = the name of output_dir. */
  hub_model_id: string | null;
  /** A secret: it is in no file that a run writes. */
  hub_token: string | null;
  /** Whether a new repository is private; null = the account's default. */
  hub_private_repo: boolean | null;
  /**
   * What is uploaded: the model at the end; at every save too; with the newest checkpoint; with all
   * checkpoints.
   */
  hub_strategy: "end" | "every_save" | "checkpoint" | "all_checkpoints";
  /** Branch of the repository; null = main. */
  hub_revision: string | null;
}

/** The upload after a run, as reasoning-gym's recipes have it. */
export interface HfUploadSection {
  /** Whether the model is uploaded when the run is complete. */
  enabled: boolean;
  /** `USER/NAME` of the repository, or `NAME`. */
  repo_id: string | null;
  /** full: with all that a resume needs. */
  optimizer_save_mode: "full" | null;
  /** Whether a new repository is private; null = the account's default. */
  private: boolean | null;
  /** Branch of the repository; null = main. */
  revision: string | null;
  /** Licence for the model's card, such as `apache-2.0`. */
  license: string | null;
}
