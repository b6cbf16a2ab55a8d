/**
 * The sections of a configuration about what happens around the training: uploads and jobs.
 */

/** Uploads of transformers' trainer. */
export interface HubSection {
  push_to_hub: boolean;
  /** null = the name of output_dir. */
  hub_model_id: string | null;
  /** A secret: it is in no file that a run writes. */
  hub_token: string | null;
  hub_private_repo: boolean | null;
  hub_strategy: "end" | "every_save" | "checkpoint" | "all_checkpoints";
  hub_revision: string | null;
}

/** The upload after a run, as reasoning-gym's recipes have it. */
export interface HfUploadSection {
  enabled: boolean;
  repo_id: string | null;
  /** full: with all that a resume needs. */
  optimizer_save_mode: "full" | null;
  private: boolean | null;
  revision: string | null;
  license: string | null;
}

/** A job on a SLURM cluster: the defaults of the flags of `rgx slurm`. Training reads nothing. */
export interface SlurmSection {
  /** null: the command line names it. */
  account: string | null;
  /** null = the site's default. */
  partition: string | null;
  /** H:M:S, D-H:M:S, …, as SLURM reads it. */
  time: string;
  /** Cards of each node; null = training.n_gpus_per_node, or 1. */
  gpus: number | null;
  /** null or any = any. */
  gpu_type: string | null;
  /** Cores of a process; null = by the plan. */
  cpus: number | null;
  /** Of each node, with its unit; null = by the plan. */
  memory: string | null;
  /** null = training.nnodes, or 1. */
  nodes: number | null;
  /** null = the current folder. */
  work_dir: string | null;
  /** The path of the script; null = slurm_{job name}.sh. */
  output: string | null;
  requeue: boolean;
}
