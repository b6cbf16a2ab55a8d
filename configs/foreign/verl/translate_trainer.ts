/** Translates verl's loop: how many steps, what is saved how often, and how a run goes on. */
import { describeNode, toJson } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

export function translateTrainer(translation: Translation): void {
  const steps = translation.number("trainer.total_training_steps");
  if (steps !== null && steps.value > 0) {
    translation.set("training", "max_steps", steps.value, steps.node);
  }
  const save = translation.number("trainer.save_freq");
  if (save !== null && save.value > 0) {
    translation.set("training", "save_steps", save.value, save.node);
  } else if (save !== null) translation.set("training", "save_strategy", "no", save.node);
  for (const [name, key] of [["n_gpus_per_node", "gpus"], ["nnodes", "nodes"]] as const) {
    const given = translation.number(`training.${name}`);
    if (given === null || given.node.foreign !== `trainer.${name}`) continue;
    translation.fill("slurm", key, given.value, given.node);
  }
  translateContents(translation);
  translateResume(translation);
}

/** Keys that verl counts in generations → rgx's key, which counts optimizer steps. */
const COUNTED: readonly [path: string, name: string][] = [
  ["trainer.total_training_steps", "max_steps"],
  ["trainer.save_freq", "save_steps"],
  ["trainer.test_freq", "eval_steps"],
  ["actor_rollout_ref.actor.optim.lr_warmup_steps", "warmup_steps"],
];

/**
 * Says what to write where a generation has several optimizer steps: a step of verl is a
 * generation with all of its updates. The numbers are taken over as they are.
 */
export function noteUnits(translation: Translation): void {
  const train = translation.number("data.train_batch_size")?.value ?? 0;
  const mini = translation.number("actor_rollout_ref.actor.ppo_mini_batch_size")?.value ?? train;
  const updates = Math.ceil(train / mini) *
    (translation.number("training.num_iterations")?.value ?? 1);
  if (!(updates > 1)) return;
  const counted = COUNTED.flatMap(([path, name]) => {
    const given = translation.number(path);
    // Where rgx's own key is written too, it wins, and counts as rgx does.
    const isTaken = given !== null && given.value > 0 &&
      translation.number(`training.${name}`)?.node.at === given.node.at;
    return isTaken ? [{ path, node: given.node, written: `${name}=${given.value * updates}` }] : [];
  });
  if (counted.length === 0) return;
  const text =
    `verl counts generations and rgx optimizer steps, of which a generation has ${updates}` +
    ` here: for as much as in verl, write ${counted.map(({ written }) => written).join(" ")}`;
  const paths = counted.map(({ path }) => path).join(", ");
  translation.note(counted[0]!.node, paths, text);
}

const CONTENTS = "actor_rollout_ref.actor.checkpoint.save_contents";

/** Without the optimizer, a checkpoint is the model alone. */
function translateContents(translation: Translation): void {
  const node = translation.given(CONTENTS);
  if (node === undefined) return;
  const parts = toJson(node), known = ["model", "optimizer", "extra", "hf_model"];
  if (!Array.isArray(parts) || parts.some((part) => !known.some((name) => name === part))) {
    const text = `expected a list of ${known.join(", ")}, found ${describeNode(node)}`;
    return translation.refuse(node, CONTENTS, text);
  }
  if (!parts.includes("optimizer")) translation.set("training", "save_only_model", true, node);
}

function translateResume(translation: Translation): void {
  const mode = translation.given("trainer.resume_mode");
  const path = translation.given("trainer.resume_from_path");
  const written = translation.text("trainer.resume_from_path");
  const asked = translation.text("trainer.resume_mode");
  if (mode !== undefined && (asked === "auto" || asked === "disable")) {
    translation.set("training", "resume_from_checkpoint", asked === "auto", mode);
    if (written !== null) {
      const text = "has no effect without resume_mode resume_path, in verl too";
      translation.note(path!, "trainer.resume_from_path", text);
    }
  } else if (mode !== undefined && asked === "resume_path") {
    if (written !== null) translation.set("training", "resume_from_checkpoint", written, path!);
    else translation.refuse(mode, "trainer.resume_mode", "resume_path needs resume_from_path");
  }
}
