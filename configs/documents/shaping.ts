/**
 * Ways to say something in keys of another trainer that are no single key of rgx: verl's batches, which
 * count prompts, its KL switch and its frequencies; reasoning-gym's `reward` section. They are turned into
 * rgx's keys after everything is merged; what is also written in rgx's own words wins.
 * verl: main of 2026-08. Left out: what verl's other losses and estimators would need.
 */
import { SECONDARY_REWARDS } from "../../rewards/registry.ts";
import {
  type ConfigNode,
  emptyMap,
  isNull,
  type MapNode,
  nodeAt,
  type Problems,
  withEntry,
} from "./node.ts";
import { reportTo } from "../schema/trackers.ts";

/** The tree with those keys turned into rgx's; they themselves stay and are read by nobody. */
export function foldShaping(tree: MapNode, problems: Problems): MapNode {
  const shaper = new Shaper(tree, problems);
  shaper.kl();
  shaper.batches();
  shaper.frequencies();
  shaper.rewards();
  shaper.trackers();
  return shaper.tree;
}

class Shaper {
  constructor(public tree: MapNode, readonly problems: Problems) {}

  #node(path: string): ConfigNode | undefined {
    return nodeAt(this.tree, path.split("."));
  }

  #number(path: string): { value: number; node: ConfigNode } | null {
    const node = this.#node(path);
    if (node?.kind !== "scalar" || typeof node.value !== "number") return null;
    return { value: node.value, node };
  }

  #isTrue(path: string): boolean {
    const node = this.#node(path);
    return node?.kind === "scalar" && node.value === true;
  }

  /** Sets a key that is not written in rgx's words. */
  #set(section: string, name: string, value: number | string | boolean, from: ConfigNode): void {
    const map = this.#node(section);
    if (map !== undefined && map.kind !== "map") return;
    const there = map?.entries.get(name)?.node;
    if (there !== undefined && !isNull(there)) return;
    const node: ConfigNode = { kind: "scalar", value, at: from.at };
    const base: MapNode = map ?? { kind: "map", entries: new Map(), at: from.at };
    this.tree = withEntry(this.tree, section, withEntry(base, name, node), base.at);
  }

  kl(): void {
    const actor = "actor_rollout_ref.actor";
    const coefficient = this.#number(`${actor}.kl_loss_coef`);
    const use = this.#node(`${actor}.use_kl_loss`);
    if (use !== undefined && this.#isTrue(`${actor}.use_kl_loss`)) {
      this.#set("training", "beta", coefficient?.value ?? 0.001, coefficient?.node ?? use);
    } else if (coefficient !== null) {
      const text = "has no effect while use_kl_loss is not true";
      this.problems.note(coefficient.node.at, `${actor}.kl_loss_coef`, text);
    }
  }

  /** Prompts a generation and a step, completions a micro-step. */
  batches(): void {
    const group = this.#number("training.num_generations")?.value ?? 8;
    const actor = "actor_rollout_ref.actor";
    const micro = this.#number(`${actor}.ppo_micro_batch_size_per_gpu`);
    const mini = this.#number(`${actor}.ppo_mini_batch_size`);
    const train = this.#number("data.train_batch_size");
    if (mini !== null) {
      const step = mini.value * group;
      const fits = micro !== null && micro.value >= 1 && step % micro.value === 0;
      const size = fits ? micro.value : step;
      this.#set("training", "per_device_train_batch_size", size, fits ? micro.node : mini.node);
      const written = this.#number("training.per_device_train_batch_size")?.value ?? size;
      const steps = step % written === 0 ? step / written : 1;
      this.#set("training", "gradient_accumulation_steps", steps, mini.node);
    }
    if (train !== null && this.#number("training.steps_per_generation") === null) {
      this.#set("training", "generation_batch_size", train.value * group, train.node);
    }
  }

  frequencies(): void {
    const save = this.#number("trainer.save_freq");
    if (save !== null && save.value > 0) {
      this.#set("training", "save_steps", save.value, save.node);
    } else if (save !== null) this.#set("training", "save_strategy", "no", save.node);
    const start = this.#node("trainer.val_before_train");
    const test = this.#number("trainer.test_freq");
    const problemsHeldOut = this.#number("eval.num_examples")?.value ?? 0;
    if (problemsHeldOut === 0) {
      const asked = test !== null && test.value > 0 ? test.node : undefined;
      if (asked !== undefined) {
        const text = "has no effect without held-out problems: eval.num_examples";
        this.problems.note(asked.at, "trainer.test_freq", text);
      }
      return;
    }
    if (test !== null && test.value > 0) {
      this.#set("training", "eval_steps", test.value, test.node);
      this.#set("training", "eval_strategy", "steps", test.node);
    }
    if (start !== undefined && this.#isTrue("trainer.val_before_train")) {
      this.#set("training", "eval_on_start", true, start);
    }
  }

  /** `reward: {use_accuracy, secondary_rewards: [{name, scaling_factor, kwargs}]}`. */
  rewards(): void {
    const accuracy = this.#node("reward.use_accuracy");
    const secondary = this.#node("reward.secondary_rewards");
    if ((accuracy === undefined && secondary === undefined) || this.tree.entries.has("rewards")) {
      return;
    }
    const items: ConfigNode[] = [];
    if (accuracy !== undefined && this.#isTrue("reward.use_accuracy")) {
      items.push({ kind: "scalar", value: "correctness", at: accuracy.at });
    }
    if (secondary?.kind === "list") items.push(...secondary.items.map(secondaryReward));
    const at = (secondary ?? accuracy)!.at;
    this.tree = withEntry(this.tree, "rewards", { kind: "list", items, at });
  }

  trackers(): void {
    const value = reportTo(this.tree, this.problems), logging = this.#node("logging");
    if (value === undefined || (logging !== undefined && logging.kind !== "map")) return;
    const section: MapNode = logging ?? emptyMap(value.at);
    this.tree = withEntry(this.tree, "logging", withEntry(section, "report_to", value), section.at);
  }
}

function secondaryReward(item: ConfigNode): ConfigNode {
  if (item.kind !== "map") return item;
  const entries = new Map(item.entries);
  const weight = entries.get("scaling_factor");
  const parameters = entries.get("kwargs")?.node;
  entries.delete("scaling_factor");
  entries.delete("kwargs");
  if (weight !== undefined) entries.set("weight", weight);
  const name = entries.get("name");
  if (name?.node.kind === "scalar" && typeof name.node.value === "string") {
    const value = SECONDARY_REWARDS[name.node.value] ?? name.node.value;
    entries.set("name", { ...name, node: { ...name.node, value } });
  }
  if (parameters?.kind === "map") {
    for (const [name, entry] of parameters.entries) entries.set(name, entry);
  }
  return { ...item, entries };
}
