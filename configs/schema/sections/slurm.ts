/** Jobs on a cluster. */

/** A job on a SLURM cluster: the defaults of the flags of `rgx slurm`. Training reads nothing. */
export interface SlurmSection {
  /** The account that the job is charged to; null: the command line names it. */
  account: string | null;
  /** Partition; null = the site's default. */
  partition: string | null;
  /** Time limit of one start of the job: HH:MM:SS or D-HH:MM:SS. */
  time: string;
  /** Cards of each node, one rank each; 0 = none; null = training.n_gpus_per_node, or 1. */
  gpus: number | null;
  /** Type of the cards, as in a100; null or any = any. */
  gpu_type: string | null;
  /** Cores of a process; null = by the plan. */
  cpus: number | null;
  /** Memory of each node, with its unit; 0 = all of it; null = by the plan. */
  memory: string | null;
  /** Nodes; null = training.nnodes, or 1. */
  nodes: number | null;
  /**
   * Where the job runs, and where relative paths of the configuration begin; null = the current
   * folder.
   */
  work_dir: string | null;
  /** The script; null = slurm_{job name}.sh. */
  output: string | null;
  /** Back into the queue when time is nearly up. */
  requeue: boolean;
}
