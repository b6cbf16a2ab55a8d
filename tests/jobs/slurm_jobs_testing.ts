/** Jobs of rgx on a throwaway SLURM, for tests. Not part of the program. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { slurmIsInstalled, ThrowawayCluster } from "./throwaway_cluster.ts";
import { until } from "./waiting.ts";
import { readMetrics, rgx, TINY } from "../support.ts";
import { argv } from "../command_line.ts";

export const installed = await slurmIsInstalled();

/** Small requests, so that many jobs fit on a pretended node. */
export const SMALL = ["--gpus", "1", "--cpus", "1", "--memory", "400M"];

/** A reward that waits. A step has 16 completions, so it takes 0.8 s with 50 ms. */
const pause = (ms: number) =>
  `export default async function pause({ completion }: { completion: string }) {
  await new Promise((resolve) => setTimeout(resolve, ${ms}));
  return completion.length / 100;
}
`;

/** Writes TINY with a reward that does not wait to `quick/`, and with one that waits to `slow/`. */
export async function writeConfigs(folder: string, ms: number): Promise<void> {
  const rewards = "rewards: [{ name: correctness }, { name: format_answer, weight: 0.5 }, " +
    "{ path: ./pause.ts, weight: 0.1 }]";
  for (const [name, wait] of [["quick", 0], ["slow", ms]] as const) {
    await Deno.mkdir(`${folder}/${name}`);
    await Deno.writeTextFile(`${folder}/${name}/pause.ts`, pause(wait));
    const config = TINY.replace(/^rewards: .*$/m, rewards);
    await Deno.writeTextFile(`${folder}/${name}/${name}.yaml`, config);
  }
}

/** A submitted job. */
export class Job {
  constructor(readonly cluster: ThrowawayCluster, readonly id: string, readonly folder: string) {}

  /** A field of `scontrol show job`. */
  async field(name: string): Promise<string> {
    const { out } = await this.cluster.run(["scontrol", "-o", "show", "job", this.id]);
    return new RegExp(`\\b${name}=(\\S+)`).exec(out)?.[1] ?? "";
  }

  /** Waits for the end; returns `STATE exit-code restarts`. */
  async ended(seconds = 240): Promise<string> {
    const over = /^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|PREEMPTED)$/;
    await until(
      `job ${this.id} ends`,
      seconds,
      async () => over.test(await this.field("JobState")),
    );
    const fields = ["JobState", "ExitCode", "Restarts"].map((name) => this.field(name));
    return (await Promise.all(fields)).join(" ");
  }

  async steps(): Promise<number> {
    const lines = await readMetrics(`${this.folder}`).catch(() => []);
    return lines.filter((line) => line["split"] === "train").length;
  }

  async reached(step: number): Promise<void> {
    await until(`job ${this.id}: step ${step}`, 90, async () => await this.steps() >= step);
  }
}

export interface Workplace {
  folder: string;
  cluster: ThrowawayCluster;
  /** Runs `rgx` in the folder, asserts success, and returns stdout. */
  rgx(...args: string[]): Promise<string>;
  /** Submits a training job. Its run is in `{folder}/{name}`. */
  train(config: string, name: string, ...args: string[]): Promise<Job>;
}

export async function withCluster(work: (at: Workplace) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const state = `${await Deno.realPath(folder)}/slurm`;
    await Deno.mkdir(state);
    const cluster = await ThrowawayCluster.start(state);
    const call = async (...args: string[]) => {
      const { code, out, err } = await rgx(args, {
        env: { ...cluster.env, RGX_DEVICE: "wasm" },
        cwd: folder,
      });
      assert.equal(code, 0, `rgx ${args.join(" ")}\n${err}`);
      return out;
    };
    try {
      await work({
        folder,
        cluster,
        rgx: call,
        train: async (config, name, ...args) => {
          const submitted = await call(
            ...argv`slurm ${config} acct training.output_dir=${name} ${SMALL} ${args}
              --job-name ${name} --submit --json`,
          );
          const { jobs } = JSON.parse(submitted) as { jobs: string[] };
          return new Job(cluster, jobs[0]!, `${folder}/${name}`);
        },
      });
    } finally {
      await cluster.stop();
    }
  });
}

/** The log of a job, to which all its starts append. */
export const logOf = async ({ cluster, id, folder }: Job) => {
  const path = (await cluster.run(["scontrol", "-o", "show", "job", id])).out.match(
    /StdOut=(\S+)/,
  )?.[1];
  assert.ok(path?.startsWith(folder.replace(/\/[^/]*$/, "/logs/")), path);
  return await Deno.readTextFile(path!);
};
