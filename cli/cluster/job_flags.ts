/** The flags of `rgx slurm`, `rgx slurm bench` and `rgx jobs`. */
import { PYTHON } from "../flag_tables.ts";

/** Flags of both commands. Each command adds which cards it counts. */
export const JOB = {
  "The job:": "",
  workDir: "text <folder> -- where the job runs (default: the current folder)",
  partition: "text <name> -- partition (default: the site's)",
  time: "text <limit> -- HH:MM:SS or D-HH:MM:SS (default 04:00:00)",
  gpus: "int>=0<=1024 <n> -- CARDS",
  gpuType: "text <name> -- type of the cards (default any)",
  cpus: "int>=1<=4096 <n> -- cores of a process (default: by the plan)",
  memory: "text <size> -- of each node, with its unit (default: by the plan)",
  nodes: "int>=1<=4096 <n> -- nodes (default 1)",
  "Its end, and going on:": "",
  requeue: `flag -- back into the queue when time is nearly up (the default) |
    off -- end when time is up`,
  warn: "text <seconds> -- how long before its end the job saves (default 600)",
  maxRestarts: "int>=0 <n> -- restarts in a row without anything new (default 5)",
  dependency: "text <when> -- start after another job: afterok:1234",
  "The site:": "",
  sbatch: "texts <option> -- a further #SBATCH line, --qos=high (repeatable)",
  module: "texts <name> -- an environment module to load (repeatable)",
  setup: "texts <line> -- a shell line before the program starts (repeatable)",
  online: "flag -- the nodes have internet: do not forbid access to the Hub",
  device: "text <name> -- auto, webgpu, vulkan, wasm or reference",
  apptainer: "text <image> -- run in this image (docs/nodes.md)",
  printDefinition: "flag -- print the definition of such an image and stop",
  "The script:": "",
  output: "text <file> -- the script (default slurm_<job name>.sh)",
  jobName: "text <name> -- default: the name of the configuration",
  check: "off -- do not look whether model and data are here, and plan nothing",
  template: "text <file> -- a template of your own",
  printTemplate: "flag -- print the built-in template and stop",
  submit: "flag -- submit it with sbatch",
  force: "flag -- write over an existing script",
  json: "flag -- one JSON document: script, job_name, logs, jobs, notes",
} as const;

export const SLURM = {
  "About:": "write the job script that trains on a SLURM cluster, and submit it",
  "[config]": "a YAML file, or the name of an embedded config",
  "[account]": "the account that is charged (default: slurm.account, or yours)",
  "[overrides...]": "key.path=value, as rgx train takes them",
  sweep: "texts <key=a,b> -- one element of an array job each value (repeatable: each combination)",
  array: "text <list> -- which elements, %N at once: 0-3%2; without --sweep: seeds",
  ntasksPerNode: "int>=1<=1024 <n> -- ranks of a node (default: one a card)",
  ...PYTHON,
  mpi: "text <type> -- how srun starts ranks: pmix or pmi2 (default: what fits)",
  ...JOB,
  gpus: JOB.gpus.replace("CARDS", "cards of each node, one rank each (default 1; 0 for none)"),
  "Examples:": `
    rgx slurm leg_counting_qwen7b my_account --time 08:00:00
    rgx slurm my.yaml my_account training.max_steps=500 --sbatch=--qos=high --submit
    rgx slurm my.yaml my_account --nodes 2 --gpus 4      # eight ranks
    rgx slurm my.yaml my_account --sweep training.learning_rate=1e-6,2e-6 --submit`,
  "After:": `
    Before its time is up the job saves and goes back into the queue by itself;
    scancel ends it. Section slurm of the configuration has defaults for its flags
    (account, time, gpus, memory, …), training.nnodes and training.n_gpus_per_node
    for --nodes and --gpus. A flag wins.`,
} as const;

export const JOBS = {
  ...SLURM,
  "About:": "as rgx slurm, also for the schedulers PBS and LSF",
  scheduler: "one slurm|pbs|lsf <name> = slurm -- the scheduler of the cluster",
  directive: 'texts <line> -- a further #PBS or #BSUB line, "-m e" (repeatable)',
  submit: "flag -- submit it with sbatch, qsub or bsub",
  "Examples:": `
    rgx jobs my.yaml --scheduler pbs --partition gpuq --time 08:00:00
    rgx jobs my.yaml my_project --scheduler lsf --gpus 4 --submit
    rgx jobs my.yaml --scheduler pbs --sweep training.learning_rate=1e-6,2e-6`,
  "After:": `
    Before its time is up the job saves and submits itself again; qdel and bkill end
    it. --partition names the queue. Section slurm of the configuration has defaults
    for its flags, as for rgx slurm.`,
} as const;

export const SLURM_BENCH = {
  "About:": "write the job script of a benchmark: models × tasks, dealt over graphics cards",
  "[account]": "the account that the job is charged to",
  "[flags...]": "after --: further flags of rgx bench",
  models: "words <models...> = [] -- as rgx bench takes them",
  tasks: "words <tasks...> = [] -- as rgx bench takes them",
  numExamples: "int>=1 <n> -- problems of each task (default 100)",
  maxNewTokens: "int>=1 <n> -- default: as the checkpoints were trained",
  outputDir: "text <folder> -- where results go (default benchmark_results)",
  oneNode: "flag -- one job with all cards of a node instead of an array",
  array: "text <%n> -- elements that run at once: %4",
  mpi: "text <type> -- how srun starts the ranks of --nodes (default: what fits)",
  ...JOB,
  gpus: JOB.gpus.replace("CARDS", "cards altogether (default 8); with --nodes of each node"),
  "Examples:": `
    rgx slurm bench my_account --models runs/a/checkpoint-450 Qwen/Qwen2.5-7B-Instruct \\
          --tasks leg_counting tower_of_hanoi --num-examples 200
    rgx slurm bench my_account --models runs/a --tasks leg_counting --one-node --submit
    rgx slurm bench my_account --models runs/a --tasks leg_counting --nodes 2 --gpus 4
    rgx slurm bench my_account --models runs/a --tasks math500=m.jsonl -- --samples 8`,
  "After:": "Models, tasks and sizes stand at the top of the script, to be edited.",
} as const;
