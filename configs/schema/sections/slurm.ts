/** Jobs on a cluster. */

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
  /** Whether a job that is stopped in time goes back to the queue. */
  requeue: boolean;
}
