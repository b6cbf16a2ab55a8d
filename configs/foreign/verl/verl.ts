/**
 * Keys of verl (main of 2026-08-22 and its releases since 0.2): all of its complete trainer
 * configuration, `ppo_trainer.yaml` with every section of every engine. Each key is in one list of
 * one table. `tests/golden/verl_keys.json` has all names; a test compares them.
 */
import type { MapEntry } from "../../documents/node.ts";
import type { ForeignTable } from "../foreign_table.ts";
import { ACTOR, REFERENCE } from "./actor_keys.ts";
import { ALGORITHM } from "./algorithm_keys.ts";
import { DATA } from "./data_keys.ts";
import { MODEL } from "./model_keys.ts";
import { REWARDS } from "./reward_keys.ts";
import { ROLLOUT } from "./rollout_keys.ts";
import { PROCESSES, TRAINER } from "./trainer_keys.ts";
import { join } from "./verl_keys.ts";

/** Sections that only verl has. */
const SECTIONS = new Set(
  ("actor_rollout_ref trainer algorithm critic reward_model custom_reward_function " +
    "sandbox_fusion distillation global_profiler skip ray_init ray_kwargs transfer_queue hydra")
    .split(" "),
);

/** Whether a key that has no effect is one of verl's, or inside one of them. */
export function isOfVerlAlone(path: string): boolean {
  return SECTIONS.has(path.split(".")[0]!) || Object.hasOwn(VERL.withoutEffect, path);
}

/** Whether a document is written for verl. */
export function isOfVerl(entries: ReadonlyMap<string, MapEntry>): boolean {
  return entries.has("actor_rollout_ref");
}

export const VERL: ForeignTable = join(
  MODEL,
  ACTOR,
  REFERENCE,
  ROLLOUT,
  DATA,
  ALGORITHM,
  TRAINER,
  REWARDS,
  PROCESSES,
);
