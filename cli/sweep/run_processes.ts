/**
 * The processes of a sweep, some at once. Each is in a process group of its own, so that Ctrl-C
 * reaches only this program, which asks every run once to stop.
 */
/** A run of a sweep. */
export interface SweepRun {
  label: string;
  folder: string;
  overrides: readonly string[];
  /** What an earlier session left: nothing, a run that can go on, or a completed one. */
  state: "new" | "begun" | "completed";
}

const SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2"];

/**
 * Runs all. A run that fails does not stop the others.
 * @param command starts `rgx train CONFIG`; the run's overrides are added
 * @returns whether a signal stopped the sweep
 */
export async function runAll(
  runs: readonly SweepRun[],
  command: readonly string[],
  jobs: number,
  report: (line: string) => void,
): Promise<boolean> {
  const children = new Set<Deno.ChildProcess>(), waiting = [...runs];
  let stopping = false;
  const stop = () => {
    if (!stopping) report("Stopping: the runs under way save their state.");
    stopping = true;
    for (const child of children) child.kill("SIGTERM");
  };
  const work = async () => {
    for (let run = waiting.shift(); run !== undefined && !stopping; run = waiting.shift()) {
      const code = await runOne(run, command, children);
      report(`${run.label.padEnd(width)}  ${ENDS[code] ?? `failed (exit code ${code})`}`);
    }
  };
  const width = Math.max(...runs.map(({ label }) => label.length));
  for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
  try {
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
  }
  return stopping;
}

/** How a run ended, by its exit code. */
const ENDS: Readonly<Record<number, string>> = { 0: "completed", 75: "stopped, saved" };

async function runOne(
  { folder, overrides, state }: SweepRun,
  [program, ...args]: readonly string[],
  children: Set<Deno.ChildProcess>,
): Promise<number> {
  const log = await Deno.open(`${folder}.log`, { append: true, create: true });
  const child = new Deno.Command(program!, {
    args: [...args, ...overrides, ...(state === "new" ? [] : ["--resume=latest"])],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    detached: true,
  }).spawn();
  children.add(child);
  try {
    const [{ code }] = await Promise.all([child.status, child.stderr.pipeTo(log.writable)]);
    return code;
  } finally {
    children.delete(child);
  }
}
