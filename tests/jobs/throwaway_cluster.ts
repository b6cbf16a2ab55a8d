/**
 * A real SLURM for tests, in a folder: munge, the controller and two pretended nodes, as child
 * processes on this machine. It needs no systemd, no cgroups, no graphics card and no root. It
 * cannot test the isolation of cards and cores, several machines, or accounting.
 *
 * Packages (Debian): slurmctld slurmd slurm-client munge. To start it by hand, until Ctrl-C:
 *     deno run -A tests/jobs/throwaway_cluster.ts FOLDER
 */
import { run } from "../../cluster/testing.ts";
import { delay } from "./waiting.ts";

const NODES = ["n1", "n2"];
/** Of each pretended node. */
const CORES = 16, MEMORY_MB = 8000, CARDS = 8;

/** The folders of the daemons are not in the PATH of every user. */
const PATH = `${Deno.env.get("PATH")}:/usr/sbin:/sbin`;

/** Whether SLURM's programs are installed. */
export async function slurmIsInstalled(): Promise<boolean> {
  for (const program of ["munged", "slurmctld", "slurmd", "sbatch", "srun"]) {
    const { code } = await run(["sh", "-c", `command -v ${program}`], { env: { PATH } });
    if (code !== 0) return false;
  }
  return true;
}

export class ThrowawayCluster {
  readonly #daemons: Deno.ChildProcess[] = [];
  /** Environment variables for programs that use the cluster. */
  readonly env: Record<string, string>;

  private constructor(readonly folder: string, readonly newSession: boolean) {
    this.env = { SLURM_CONF: `${folder}/slurm.conf`, PATH };
  }

  /**
   * Starts a cluster in an existing folder with a short path: paths of sockets have at most 108
   * characters.
   * @param options.newSession starts the daemons in a new session, where Ctrl-C does not end them
   *   before `stop` has ended the jobs
   * @throws Error with the end of the logs if a node does not start
   */
  static async start(
    folder: string,
    options: { newSession?: boolean } = {},
  ): Promise<ThrowawayCluster> {
    const cluster = new ThrowawayCluster(folder, options.newSession ?? false);
    try {
      await cluster.#configure();
      await cluster.#startDaemons();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  run(command: readonly string[], cwd?: string): ReturnType<typeof run> {
    return run(command, { env: this.env, ...(cwd === undefined ? {} : { cwd }) });
  }

  /** Ends all jobs, then the daemons. */
  async stop(): Promise<void> {
    if (this.#daemons.length > 1) {
      // The controller does not answer if it has ended by itself.
      const ask = (...command: string[]) => this.run(["timeout", "10", ...command]);
      const jobs = (await ask("squeue", "-h", "-o", "%A")).out.split("\n").filter(Boolean);
      if (jobs.length > 0) {
        await ask("scancel", "--full", "--signal=KILL", ...jobs);
        await ask("scancel", ...jobs);
      }
      for (let i = 0; i < 100 && (await ask("squeue", "-h")).out !== ""; i++) {
        await delay(100);
      }
    }
    for (const daemon of this.#daemons.splice(0).reverse()) {
      try {
        daemon.kill("SIGTERM");
      } catch {
        // it has ended by itself
      }
      const hard = setTimeout(() => daemon.kill("SIGKILL"), 5000);
      await daemon.status;
      clearTimeout(hard);
    }
  }

  async #configure(): Promise<void> {
    const { folder } = this, [controller, ...ports] = freePorts(NODES.length + 1);
    for (const name of ["run", "log", "state", "dev"]) await Deno.mkdir(`${folder}/${name}`);
    for (const node of NODES) {
      await Deno.mkdir(`${folder}/spool/${node}`, { recursive: true });
      await Deno.mkdir(`${folder}/tmp/${node}`, { recursive: true });
    }
    await Deno.chmod(folder, 0o755);
    const key = crypto.getRandomValues(new Uint8Array(1024));
    await Deno.writeFile(`${folder}/munge.key`, key, { mode: 0o600 });
    // A card must be a device file. SLURM takes its number from the name.
    for (let card = 0; card < CARDS; card++) {
      await Deno.symlink("/dev/null", `${folder}/dev/nvidia${card}`);
    }
    await Deno.writeTextFile(
      `${folder}/gres.conf`,
      `Name=gpu Type=a100 File=${folder}/dev/nvidia[0-${CARDS - 1}]\n`,
    );
    const host = Deno.hostname().split(".")[0], user = (await run(["id", "-un"])).out.trim();
    const settings = {
      ClusterName: "throwaway",
      SlurmctldHost: `${host}(127.0.0.1)`,
      SlurmctldPort: controller,
      SlurmUser: user,
      SlurmdUser: user,
      AuthType: "auth/munge",
      CredType: "cred/munge",
      // A requeued job starts only after its old credential has expired.
      AuthInfo: `socket=${folder}/run/munge.socket,cred_expire=5`,
      StateSaveLocation: `${folder}/state`,
      SlurmdSpoolDir: `${folder}/spool/%n`,
      TmpFS: `${folder}/tmp/%n`,
      SlurmctldPidFile: `${folder}/run/slurmctld.pid`,
      SlurmdPidFile: `${folder}/run/slurmd.%n.pid`,
      ProctrackType: "proctrack/linuxproc",
      TaskPlugin: "task/none",
      SwitchType: "switch/none",
      JobAcctGatherType: "jobacct_gather/none",
      AccountingStorageType: "accounting_storage/none",
      MpiDefault: "none",
      SelectType: "select/cons_tres",
      SelectTypeParameters: "CR_Core_Memory",
      SchedulerType: "sched/backfill",
      SchedulerParameters:
        "bf_interval=1,sched_interval=2,sched_min_interval=0,batch_sched_delay=0",
      PriorityType: "priority/basic",
      PreemptType: "preempt/partition_prio",
      PreemptMode: "REQUEUE",
      KillWait: 10,
      MinJobAge: 3600,
      InactiveLimit: 0,
      ReturnToService: 2,
      // The nodes have more cores than this machine.
      SlurmdParameters: "config_overrides",
      GresTypes: "gpu",
      DefMemPerCPU: 100,
    };
    const nodes = NODES.map((node, i) =>
      `NodeName=${node} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${ports[i]} CPUs=${CORES} ` +
      `Boards=1 SocketsPerBoard=1 CoresPerSocket=${CORES} ThreadsPerCore=1 ` +
      `RealMemory=${MEMORY_MB} Gres=gpu:a100:${CARDS} State=UNKNOWN`
    );
    const partitions = [
      "PartitionName=GPUQ Nodes=ALL Default=YES MaxTime=7-0 PriorityTier=10 PreemptMode=OFF",
      "PartitionName=scavenge Nodes=ALL MaxTime=1-0 PriorityTier=1 PreemptMode=REQUEUE GraceTime=10",
    ];
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    await Deno.writeTextFile(
      `${folder}/slurm.conf`,
      [...lines, ...nodes, ...partitions, ""].join("\n"),
    );
  }

  async #startDaemons(): Promise<void> {
    const { folder } = this, socket = `${folder}/run/munge.socket`;
    const munge = [
      `--key-file=${folder}/munge.key`,
      `--seed-file=${folder}/munge.seed`,
      `--pid-file=${folder}/run/munged.pid`,
    ];
    await this.#daemon("munged", ["--foreground", "--force", `--socket=${socket}`, ...munge]);
    for (let i = 0; i < 100 && !await exists(socket); i++) await delay(50);
    await this.#daemon("slurmctld", ["-D", "-f", this.env["SLURM_CONF"]!]);
    for (const node of NODES) {
      await this.#daemon("slurmd", ["-D", "-N", node, "-f", this.env["SLURM_CONF"]!]);
    }
    for (let i = 0; i < 300; i++) {
      const { out } = await this.run(["sinfo", "-h", "-N", "-p", "GPUQ", "-o", "%T"]);
      if (out.split("\n").filter((state) => state === "idle").length === NODES.length) return;
      await delay(100);
    }
    const logs = await run(["sh", "-c", `tail -n 5 ${folder}/log/*`]);
    throw new Error(`SLURM did not start:\n${logs.out}`);
  }

  /** Starts a daemon in the foreground, as a child process that `stop` can end. */
  async #daemon(program: string, args: readonly string[]): Promise<void> {
    const log = `${this.folder}/log/${program}.${this.#daemons.length}.log`;
    // The daemon replaces the shell, which sends its output to a file.
    const command = ["sh", "-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "sh", log];
    const session = this.newSession ? ["setsid"] : [];
    const [shell, ...rest] = [...command, ...session, program, ...args];
    this.#daemons.push(
      new Deno.Command(shell!, { args: rest, env: this.env, stdin: "null" }).spawn(),
    );
    await delay(100);
  }
}

function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, () => Deno.listen({ port: 0 }));
  const ports = listeners.map(({ addr }) => (addr as Deno.NetAddr).port);
  for (const listener of listeners) listener.close();
  return ports;
}

const exists = (path: string) => Deno.lstat(path).then(() => true, () => false);

if (import.meta.main) {
  const folder = Deno.args[0];
  if (folder === undefined) {
    console.error("usage: throwaway_cluster.ts FOLDER");
    Deno.exit(2);
  }
  await Deno.mkdir(folder, { recursive: true });
  const cluster = await ThrowawayCluster.start(await Deno.realPath(folder), { newSession: true });
  console.log(`export SLURM_CONF=${cluster.env["SLURM_CONF"]}`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.addSignalListener(signal, () => resolve());
    }
  });
  await cluster.stop();
  Deno.exit(0);
}
