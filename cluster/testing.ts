/** Helpers for the tests of job scripts. */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";

/** Asserts that `work` fails with this exit code, and says all of `says` or advises it. */
export async function refuses(
  work: () => unknown,
  says: readonly string[],
  exitCode = 2,
): Promise<void> {
  let found: unknown = null;
  try {
    await work();
  } catch (error) {
    found = error;
  }
  assert.ok(found instanceof RgxError, `expected a refusal, found ${found}`);
  assert.equal(found.exitCode, exitCode);
  const message = `${found.message} ${found.advice ?? ""}`;
  for (const text of says) assert.ok(message.includes(text), `expected ${text} in: ${message}`);
}

/** Runs a program and returns its output. */
export async function run(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number; out: string; err: string }> {
  const [program, ...args] = command;
  const { code, stdout, stderr } = await new Deno.Command(program!, {
    args,
    stdin: "null",
    ...options,
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** Whether a program of this name can be started. */
export async function isInstalled(program: string): Promise<boolean> {
  try {
    await new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" })
      .output();
    return true;
  } catch {
    return false;
  }
}

/** Options for scripts that are checked but not run. */
export const options = { workDir: "/tmp", program: ["/opt/rgx"], env: {} };

/** The #SBATCH options of a script. */
export const sbatch = (text: string): string[] =>
  [...text.matchAll(/^#SBATCH (.*)$/gm)].map((match) => match[1]!);

/** Writes stand-ins for SLURM's programs. @returns a PATH that begins with their folder */
export async function standIns(folder: string, programs: Record<string, string>): Promise<string> {
  const bin = `${folder}/bin`;
  await Deno.mkdir(bin, { recursive: true });
  for (const [name, text] of Object.entries(programs)) {
    await Deno.writeTextFile(`${bin}/${name}`, `#!/bin/bash\n${text}\n`, { mode: 0o755 });
  }
  return `${bin}:${Deno.env.get("PATH")}`;
}

/** Stand-ins for what a job asks SLURM: a job that is requeued writes it into `requeued`. */
export const queueOf = (folder: string, squeue = "echo RUNNING") => ({
  squeue,
  // Skips the pauses of the script. One that goes on after its end would keep streams open.
  sleep: `case $1 in 1 | 10 | 30 | 60) ;; *) exec /bin/sleep "$1" ;; esac`,
  scontrol: `echo "$*" >>${folder}/requeued; kill -TERM $PPID`,
});

/** The text of a file that stand-ins may have written. */
export const writtenIn = (path: string): Promise<string> => Deno.readTextFile(path).catch(() => "");
