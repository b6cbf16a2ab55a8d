/** Flags and help of `rgx slurm` and `rgx slurm bench`. */
import type { Command } from "commander";
import { collect, examples, integer } from "../flag_types.ts";

export function slurmCommands(program: Command): void {
  const slurm = program.command("slurm")
    .description("write the job script that trains on a SLURM cluster, and submit it")
    .argument("[config]", "a YAML file, or the name of an embedded config")
    .argument("[account]", "the account that is charged (default: slurm.account)")
    .argument("[overrides...]", "key.path=value, as rgx train takes them")
    .option(
      "--sweep <key=a,b>",
      "one element of an array job each value (repeatable: each combination)",
      collect,
      [],
    )
    .option("--array <list>", "which elements, %N at once: 0-3%2; without --sweep: seeds")
    .option("--ntasks-per-node <n>", "ranks of a node (default: one a card)", integer(1, 1024))
    .option("--mpi <type>", "how srun starts ranks: pmix or pmi2 (default: what fits)");
  jobFlags(slurm, "cards of each node, one rank each (default 1; 0 for none)")
    .addHelpText(
      "after",
      examples(
        "rgx slurm leg_counting_qwen7b my_account --time 08:00:00",
        "rgx slurm my.yaml my_account training.max_steps=500 --sbatch=--qos=high --submit",
        "rgx slurm my.yaml my_account --nodes 2 --gpus 4      # eight ranks",
        "rgx slurm my.yaml my_account --sweep training.learning_rate=1e-6,2e-6 --submit",
      ) +
        "\n\nBefore its time is up the job saves and goes back into the queue by itself;\n" +
        "scancel ends it. Section slurm of the configuration has defaults for its flags\n" +
        "(account, time, gpus, memory, …), training.nnodes and training.n_gpus_per_node\n" +
        "for --nodes and --gpus. A flag wins.",
    )
    .action(async (config, account, overrides, options) =>
      (await import("./slurm.ts")).slurmTrain(config, account, overrides, options)
    );
  slurm.hook("preSubcommand", (parent) => {
    const early = parent.options.find((option) =>
      parent.getOptionValueSource(option.attributeName()) === "cli"
    );
    if (early !== undefined) {
      parent.error(`error: write ${early.long} after "${parent.name()} bench"`);
    }
  });
  const bench = slurm.command("bench")
    .description("write the job script of a benchmark: models × tasks, dealt over graphics cards")
    .argument("[account]", "the account that the job is charged to")
    .argument("[flags...]", "after --: further flags of rgx bench")
    .option("--models <models...>", "as rgx bench takes them", [])
    .option("--tasks <tasks...>", "as rgx bench takes them", [])
    .option("--num-examples <n>", "problems of each task (default 100)", integer(1))
    .option("--max-new-tokens <n>", "default: as the checkpoints were trained", integer(1))
    .option("--output-dir <folder>", "where results go (default benchmark_results)")
    .option("--one-node", "one job with all cards of a node instead of an array")
    .option("--array <%n>", "elements that run at once: %4")
    .option("--mpi <type>", "how srun starts the ranks of --nodes (default: what fits)");
  jobFlags(bench, "cards altogether (default 8); with --nodes of each node")
    .addHelpText(
      "after",
      examples(
        "rgx slurm bench my_account --models runs/a/checkpoint-450 Qwen/Qwen2.5-7B-Instruct \\\n" +
          "      --tasks leg_counting tower_of_hanoi --num-examples 200",
        "rgx slurm bench my_account --models runs/a --tasks leg_counting --one-node --submit",
        "rgx slurm bench my_account --models runs/a --tasks leg_counting --nodes 2 --gpus 4",
        "rgx slurm bench my_account --models runs/a --tasks math500=m.jsonl -- --samples 8",
      ) +
        "\n\nModels, tasks and sizes stand at the top of the script, to be edited.",
    )
    .action(async (account, further, options) =>
      (await import("./slurm.ts")).slurmBench(account, further, options)
    );
}

/** The flags that both share. */
function jobFlags(command: Command, gpus: string): Command {
  return command.optionsGroup("The job:")
    .option("--work-dir <folder>", "where the job runs (default: the current folder)")
    .option("--partition <name>", "partition (default: the site's)")
    .option("--time <limit>", "HH:MM:SS or D-HH:MM:SS (default 04:00:00)")
    .option("--gpus <n>", gpus, integer(0, 1024))
    .option("--gpu-type <name>", "type of the cards (default any)")
    .option("--cpus <n>", "cores of a process (default: by the plan)", integer(1, 4096))
    .option("--memory <size>", "of each node, with its unit (default: by the plan)")
    .option("--nodes <n>", "nodes (default 1)", integer(1, 4096))
    .optionsGroup("Its end, and going on:")
    .option("--requeue", "back into the queue when time is nearly up (the default)")
    .option("--no-requeue", "end when time is up")
    .option("--warn <seconds>", "how long before its end the job saves (default 600)")
    .option("--max-restarts <n>", "restarts in a row without anything new (default 5)", integer(0))
    .option("--dependency <when>", "start after another job: afterok:1234")
    .optionsGroup("The site:")
    .option("--sbatch <option>", "a further #SBATCH line, --qos=high (repeatable)", collect, [])
    .option("--module <name>", "an environment module to load (repeatable)", collect, [])
    .option("--setup <line>", "a shell line before the program starts (repeatable)", collect, [])
    .option("--online", "the nodes have internet: do not forbid access to the Hub")
    .option("--device <name>", "auto, webgpu, vulkan, wasm or reference")
    .option("--apptainer <image>", "run in this image (docs/nodes.md)")
    .option("--print-definition", "print the definition of such an image and stop")
    .optionsGroup("The script:")
    .option("--output <file>", "the script (default slurm_<job name>.sh)")
    .option("--job-name <name>", "default: the name of the configuration")
    .option("--no-check", "do not look whether model and data are here, and plan nothing")
    .option("--template <file>", "a template of your own")
    .option("--print-template", "print the built-in template and stop")
    .option("--submit", "submit it with sbatch")
    .option("--force", "write over an existing script")
    .option("--json", "one JSON document: script, job_name, logs, jobs, notes");
}
