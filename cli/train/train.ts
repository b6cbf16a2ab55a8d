/**
 * `rgx train` and `rgx sft`: reads the configuration, and trains on as many ranks as it asks for.
 */
import type { LoadedConfig } from "../../configs/load.ts";
import { requireAsked } from "../../configs/rank_layout.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { ALONE } from "../../ranks/ranks.ts";
import { newestCheckpoint } from "../../training/checkpoint/checkpoint_files.ts";
import { checkRankCount } from "../../training/run/rank_count.ts";
import { requireWarmStart } from "../../training/warm_start.ts";
import { deviceNameOf } from "../open_device.ts";
import { cardFromFlags } from "../plans/card_flags.ts";
import { type AskedRanks, askedRanks } from "../ranks/asked_ranks.ts";
import { withRanks } from "../ranks/join_ranks.ts";
import { isRank, runRanks } from "../ranks/start_ranks.ts";
import { parseDuration } from "../stop_control.ts";
import { log, print } from "../terminal/terminal.ts";
import { dryRunOnCard } from "./dry_run.ts";
import { loadRun, withDevice } from "./load_run.ts";
import { readChosenMetrics } from "./metric_lines.ts";
import { runTraining } from "./run_training.ts";
import type { TrainOptions } from "./train_options.ts";

/** Returns the exit code: 0 done, 75 stopped and resumable. */
export async function train(
  name: string,
  overrides: string[],
  options: TrainOptions,
  commandOptions: readonly string[] = [],
  phases: "all" | "sft" = "all",
): Promise<number> {
  if (options.logFormat !== "text" && options.logFormat !== "json") {
    throw new UsageError(`--log-format ${options.logFormat}: expected text or json`);
  }
  readChosenMetrics(options.logMetrics); // refuses it before anything starts
  const maxSeconds = options.maxTime === undefined ? null : parseDuration(options.maxTime);
  const card = cardFromFlags(options, { plans: options.dryRun ?? false, planFlag: "--dry-run" });
  const plansOnly = (options.printConfig || options.dryRun) ?? false;
  let loaded!: LoadedConfig;
  const read = async () => {
    loaded = await loadRun(name, overrides, options, commandOptions, phases);
    if (phases === "sft" && !options.printConfig) requireWarmStart(loaded.config);
    options = withDevice(options, loaded.config.training, card);
  };
  const isAlone = !isRank(options.ranks);
  let asked: AskedRanks | null = null;
  if (isAlone) {
    // A mistake in the configuration is found before anything is started.
    await read();
    const { config } = loaded;
    if (!options.printConfig && card === null) {
      asked = await askedRanks(config.training, options.ranks, deviceNameOf(options));
    }
    if (asked !== null && phases !== "sft") checkRankCount(config, asked.count);
    if (asked !== null && !options.dryRun) {
      return await runRanks(asked, Deno.args, async () => {
        const kept = await newestCheckpoint(config.training.output_dir, () => {});
        return kept === null ? null : `${kept} is`;
      });
    }
  }
  return await withRanks(options.verbose ?? false, async (joined) => {
    const { ranks } = joined;
    if (!isAlone) {
      await ranks.each(async () => {
        await read();
        requireAsked(loaded.config.training, ranks.size, `${ranks.size} ranks were started`);
      });
    }
    // One rank is enough for what is only printed.
    if (plansOnly && !ranks.isFirst) return EXIT.ok;
    if (options.printConfig) {
      print(loaded.yaml.trimEnd());
      return EXIT.ok;
    }
    if (!options.quiet && ranks.isFirst) {
      for (const note of loaded.notes) log(`note: ${note}`);
      if (joined.label !== null) log(`note: ${joined.label}`);
    }
    if (card !== null) return await dryRunOnCard(loaded.config, card, options, phases);
    const which = plansOnly ? ALONE : ranks, count = asked?.count ?? ranks.size;
    return await runTraining(loaded, which, options, { phases, maxSeconds, count });
  });
}
