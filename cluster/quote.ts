/**
 * Quoting in job scripts. The shell and sbatch have different rules. sbatch parses #SBATCH lines
 * itself (quotes, backslashes, `#` for a comment; no variables). In these lines the file name of a
 * log is a pattern, in which `%j` is the id of the job.
 */
import { UsageError } from "../core/errors.ts";

export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_@%+=:./-]+$/.test(text)) return text;
  return /['$`]/.test(text) ? `"${text.replace(/["\\$`]/g, "\\$&")}"` : `'${text}'`;
}

export function shellWords(words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

/** Quotes the value of an option on an #SBATCH line. */
export function sbatchValue(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./[\]-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Escapes a folder for the file name pattern of a log. */
export function logFolderPattern(folder: string): string {
  return folder.replaceAll("%", "%%");
}

/**
 * Checks that a path can be written in a job script.
 * @throws UsageError for a backslash or a control character
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
