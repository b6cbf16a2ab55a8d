/** A user's reward file: its settings in a configuration, and its code. */
import { UsageError } from "../../core/errors.ts";
import { isCodePath, loadCode } from "../../core/sandbox/code_file.ts";

/** A reward's file, and how it is run. */
export interface RewardFile {
  /** Relative to the working directory. */
  path: string;
  /** SHA-256 of the file. A run that is resumed with another file says so. */
  sha256?: string;
  /** Of Python: the name of the function; default: its only one, or `compute_score`. */
  function?: string;
  /** Of Python: the program that runs it; default `python3`. */
  python?: string;
  /** Hosts that the reward may connect to, `name` or `name:port`; default none. */
  net?: readonly string[];
  /** Values that are computed at the same time; default 8 with `net`, else 1. */
  concurrency?: number;
  /** Number of further attempts after an exception; default 2 with `net`, else 0. */
  retries?: number;
  /**
   * Keep values in the user's cache, for rewards whose value depends on the problem and the
   * completion alone; default false.
   */
  cache?: boolean;
}

export const isPython = (path: string): boolean => /\.py$/i.test(path);

export const isRewardPath = (name: string): boolean => isPython(name) || isCodePath(name);

const HOST = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** The problem of a host of `net`, or null. */
export function hostProblem(host: unknown): string | null {
  if (typeof host === "string" && HOST.test(host)) return null;
  return `expected a host as in api.example.org or localhost:8000, found ${JSON.stringify(host)}`;
}

/** The module as a `data:` URL. @throws UsageError with file and line if it cannot be a reward */
export async function loadRewardFile(path: string): Promise<string> {
  const { url, exports } = await loadCode(path, { what: "reward" });
  if (exports.includes("default") || exports.includes("computeBatch")) return url;
  throw new UsageError(
    `${path}: exports ${exports.length === 0 ? "nothing" : exports.join(", ")}; expected a ` +
      "function as its default export, or computeBatch",
  );
}
