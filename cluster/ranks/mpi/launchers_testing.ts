/** The MPI launchers of this machine, for tests. Not part of the program. */

export interface TestLauncher {
  name: "Open MPI" | "MPICH";
  /** The program and its arguments before the number of ranks. */
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Name of its library. */
  library: string;
}

const LAUNCHERS: readonly TestLauncher[] = [
  {
    name: "Open MPI",
    command: "mpirun.openmpi",
    // More ranks than cores, and by any user, as in containers.
    args: ["--oversubscribe", "--bind-to", "none", "--quiet"],
    env: { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" },
    library: "libmpi.so.40",
  },
  { name: "MPICH", command: "mpiexec.mpich", args: [], env: {}, library: "libmpich.so.12" },
];

/** Those that are installed under the names that Debian gives them. */
export const launchers: readonly TestLauncher[] = LAUNCHERS.filter(({ command }) => {
  try {
    new Deno.Command(command, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync();
    return true;
  } catch {
    return false;
  }
});

/** Whether the tests of MPI can run here. */
export const hasBothMpis = launchers.length === LAUNCHERS.length;

/** Starts a command as `ranks` ranks, and waits for them. */
export async function launch(
  { command, args, env }: TestLauncher,
  ranks: number,
  program: readonly string[],
  more: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: [...args, "-np", String(ranks), ...program],
    env: { NO_COLOR: "1", SLURM_JOB_ID: "", ...env, ...more },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}
