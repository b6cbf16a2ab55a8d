/** The flags of `rgx train` and `rgx sft`, after parsing. */
import type { ChosenMetrics } from "./metric_lines.ts";

/** What the flags ask for; undefined: a flag was not given. */
export interface TrainOptions {
  /** A checkpoint's path, or "latest". */
  resume?: string;
  /** Plan the run and write nothing. */
  dryRun?: boolean;
  printConfig?: boolean;
  device?: string;
  /** A card of the table of known cards, to plan for; needs `dryRun`. */
  gpu?: string;
  /** Memory of a card to plan for, such as "24GiB"; needs `dryRun`. */
  deviceMemory?: string;
  /** Threads of the CPU device; default: one for each core. */
  threads?: number;
  /** Processes that train together; undefined: as the configuration asks. */
  ranks?: number;
  outputDir?: string;
  /** Seconds, after which the run saves and stops. */
  maxTime?: number;
  /** Begin anew in a folder that has a run. */
  force?: boolean;
  /** Print the summary as JSON on stdout. */
  json?: boolean;
  logFormat: "text" | "json";
  /** Metrics in the lines of a step. */
  logMetrics?: ChosenMetrics;
  /** Measure kernels: true also on a software adapter, false never. */
  tune?: boolean;
  quiet?: boolean;
  verbose?: boolean;
}
