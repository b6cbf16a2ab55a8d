/** Translates verl's optimizer: the moments' decay and the schedule of the learning rate. */
import { describeNode, toJson } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

const OPTIM = "actor_rollout_ref.actor.optim";

export function translateOptimizer(translation: Translation): void {
  const name = translation.given(`${OPTIM}.optimizer`);
  if (name !== undefined && /8bit$/.test(translation.text(`${OPTIM}.optimizer`) ?? "")) {
    translation.set("training", "optim", "adamw_8bit", name);
  }
  translateBetas(translation);
  translateSchedule(translation);
  const steps = translation.number(`${OPTIM}.lr_warmup_steps`);
  const share = translation.number(`${OPTIM}.lr_warmup_steps_ratio`);
  const warmup = steps !== null && steps.value > 0 ? steps : share;
  if (warmup !== null) translation.set("training", "warmup_steps", warmup.value, warmup.node);
}

function translateBetas(translation: Translation): void {
  const path = `${OPTIM}.betas`, node = translation.given(path);
  if (node === undefined) return;
  const betas = toJson(node);
  if (!Array.isArray(betas) || betas.length !== 2 || betas.some((b) => typeof b !== "number")) {
    const text = `expected a list of two numbers, found ${describeNode(node)}`;
    return translation.refuse(node, path, text);
  }
  translation.set("training", "adam_beta1", betas[0]!, node);
  translation.set("training", "adam_beta2", betas[1]!, node);
}

/** The older name wins over the newer one where both are written, as in verl. */
function translateSchedule(translation: Translation): void {
  const path = ["warmup_style", "lr_scheduler_type", "lr_decay_style"]
    .map((name) => `${OPTIM}.${name}`).find((path) => translation.given(path) !== undefined);
  const least = translation.number(`${OPTIM}.min_lr_ratio`);
  const node = path === undefined ? undefined : translation.given(path);
  const type = path === undefined ? null : translation.text(path);
  if (node === undefined || type === null) return;
  if (type === "cosine" && least !== null && least.value > 0) {
    translation.set("training", "lr_scheduler_type", "cosine_with_min_lr", node);
    translation.set("training", "lr_scheduler_kwargs", { min_lr_rate: least.value }, least.node);
    return;
  }
  translation.set(
    "training",
    "lr_scheduler_type",
    type === "constant" ? "constant_with_warmup" : type,
    node,
  );
}
