/**
 * Words in a job script. A shell and sbatch read them by different rules: sbatch takes its lines apart itself
 * (quotes, backslashes, `#` for a comment; no variables), and a file name there is a pattern in which `%j` is
 * the job's number.
 */
import { UsageError } from "../core/errors.ts";

/** One word of a shell command. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_@%+=:./-]+$/.test(text)) return text;
  return /['$`]/.test(text) ? `"${text.replace(/["\\$`]/g, "\\$&")}"` : `'${text}'`;
}

/** Several, with spaces between. */
export function shellWords(words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

/** The value of an option on an #SBATCH line. */
export function sbatchValue(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./[\]-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** A folder as the beginning of the file name of a log: what is in it stands for itself. */
export function logFolderPattern(folder: string): string {
  return folder.replaceAll("%", "%%");
}

/**
 * A path that a job script can name.
 * @throws UsageError for what neither sbatch nor a line of text can hold
 */
export function requireScriptPath(path: string, what: string): void {
  // deno-lint-ignore no-control-regex
  const bad = /[\x00-\x1f\x7f\\]/.exec(path)?.[0];
  if (bad === undefined) return;
  throw new UsageError(
    `${what} ${JSON.stringify(path)}: SLURM can not handle ${
      bad === "\\" ? "a backslash" : "a control character"
    } in the name of a folder`,
    { advice: "Name another folder, or a link to this one." },
  );
}
