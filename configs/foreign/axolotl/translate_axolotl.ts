/** Translates the keys of Axolotl that correspond to several keys of rgx, or depend on others. */
import { type ConfigNode, isNull, type Json, toJson } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

export function translateAxolotl(translation: Translation): void {
  // Keys such as `rl` may stand in any file; this one is only there in files of Axolotl.
  const model = translation.given("axolotl.base_model");
  if (model !== undefined) {
    translateAlgorithm(translation, model);
    fillDefaults(translation, model);
  }
  translateAdapter(translation, model);
  translateTemplate(translation);
  translatePlugins(translation);
  translateIntervals(translation);
  translateServer(translation);
  translateTrackers(translation);
}

function translateAlgorithm(translation: Translation, model: ConfigNode): void {
  if (translation.given("axolotl.rl") === undefined) {
    const text = "without rl: grpo, Axolotl trains supervised; of its files rgx reads those of " +
      "GRPO, and rgx sft has a section sft (docs/training.md)";
    translation.refuse(model, "base_model", text);
  }
  const push = translation.given("training.hub_model_id");
  if (push !== undefined) {
    translation.fill("training.push_to_hub", true, push);
    translation.fill("training.hub_private_repo", true, push);
  }
}

/** Axolotl's defaults that change results or the number of checkpoints. */
const DEFAULTS: readonly [name: string, value: Json, alone?: string][] = [
  ["per_device_train_batch_size", 1],
  ["gradient_accumulation_steps", 1],
  ["num_train_epochs", 1],
  ["lr_scheduler_type", "cosine"],
  ["warmup_steps", 0.03],
  ["save_strategy", "epoch", "save_steps"],
  ["save_total_limit", 4],
];

function fillDefaults(translation: Translation, model: ConfigNode): void {
  const filled: string[] = [];
  for (const [name, value, alone = name] of DEFAULTS) {
    const isWritten = [name, alone].some((key) => translation.given(`training.${key}`)) ||
      (alone === "save_steps" && translation.given("axolotl.saves_per_epoch") !== undefined);
    if (isWritten) continue;
    translation.fill(`training.${name}`, value, model);
    filled.push(`${name}: ${value}`);
  }
  const steps = translation.given("training.save_steps");
  if (steps !== undefined) translation.fill("training.save_strategy", "steps", steps);
  if (filled.length === 0) return;
  translation.note(model, "base_model", `Axolotl's defaults are set: ${filled.join(", ")}`);
}

/** Without `adapter`, Axolotl trains all weights, whatever else is written. */
function noteNoAdapter(translation: Translation, model: ConfigNode): void {
  const lora = translation.given("lora");
  if (lora === undefined) return;
  const first = lora.kind === "map" ? [...lora.entries.values()][0]?.node : lora;
  if (first !== undefined && translation.given("lora.enabled") === undefined) {
    const text = "accepted, has no effect in rgx: without adapter: lora, all weights are trained";
    translation.note(first, "lora", text);
  }
  translation.set("lora.enabled", false, model);
}

const MODULES = "axolotl.lora_target_linear";

function translateAdapter(translation: Translation, model: ConfigNode | undefined): void {
  const adapter = translation.given("axolotl.adapter");
  if (adapter === undefined && model !== undefined) noteNoAdapter(translation, model);
  const linear = translation.given(MODULES);
  if (linear === undefined || !translation.isTrue(MODULES)) return;
  const named = translation.given("lora.target_modules");
  const names = named === undefined ? [] : [toJson(named)].flat();
  const others = names.filter((name) => !/_proj$/.test(String(name)));
  if (others.length > 0) {
    const text = `adds ${others.join(", ")} to lora_target_linear: give one of the two`;
    return translation.refuse(named!, "lora_target_modules", text);
  }
  translation.drop("lora.target_modules");
  translation.set("lora.target_modules", "all-linear", linear);
}

function translateTemplate(translation: Translation): void {
  const path = "axolotl.chat_template", node = translation.given(path);
  const name = translation.text(path);
  if (node !== undefined && name !== null && !/^(tokenizer_default$|jinja$)/.test(name)) {
    const text = `${name}: Axolotl's own templates are not in rgx: tokenizer_default takes the ` +
      "model's, chat_template_jinja has a text or a file";
    translation.refuse(node, "chat_template", text);
  }
  const tokens = "axolotl.special_tokens", special = translation.given(tokens);
  if (special === undefined) return;
  if (special.kind !== "map") {
    return translation.refuse(special, tokens, "expected a map of tokens, as in {pad_token: …}");
  }
  for (const [token, { keyAt, node }] of special.entries) {
    if (isNull(node)) continue;
    if (token === "pad_token") {
      const text = "accepted, has no effect in rgx; padding is left out of everything";
      translation.problems.note(keyAt, `special_tokens.${token}`, text);
    } else {
      const text = "not supported yet by this version; the tokens are those of the tokenizer's " +
        "folder";
      translation.problems.add(keyAt, `special_tokens.${token}`, text);
    }
  }
}

/** `…_per_epoch` as a share of all steps, as in Axolotl. */
function translateIntervals(translation: Translation): void {
  const epochs = translation.number("training.num_train_epochs")?.value ?? 1;
  const size = translation.number("axolotl.val_set_size"), hasSplit = (size?.value ?? 0) > 0;
  // Below 1 it is a share of the problems, else a number of them.
  if (hasSplit && size!.value < 1) translation.set("data.train_ratio", 1 - size!.value, size!.node);
  for (const what of ["save", "eval"]) {
    const path = `axolotl.${what}s_per_epoch`, times = translation.number(path);
    if (times === null || times.value < 1) continue;
    if (what === "eval" && !hasSplit) {
      const text = "accepted, has no effect in rgx: val_set_size holds no problems out";
      translation.note(times.node, path, text);
      continue;
    }
    const share = 1 / (times.value * epochs);
    translation.set(`training.${what}_strategy`, share < 1 ? "steps" : "epoch", times.node);
    if (share < 1) translation.set(`training.${what}_steps`, share, times.node);
  }
  const least = translation.number("axolotl.cosine_min_lr_ratio");
  if (least === null) return;
  if (translation.text("training.lr_scheduler_type") !== "cosine") {
    const text = "accepted, has no effect in rgx: it only matters with lr_scheduler: cosine";
    return translation.note(least.node, "cosine_min_lr_ratio", text);
  }
  translation.drop("training.lr_scheduler_type");
  translation.set("training.lr_scheduler_type", "cosine_with_min_lr", least.node);
  translation.set("training.lr_scheduler_kwargs", { min_lr_rate: least.value }, least.node);
}

/** `trl.use_vllm` with a server's address samples there. `vllm` has the address too. */
function translateServer(translation: Translation): void {
  const use = translation.given("training.use_vllm");
  if (use?.foreign !== "trl.use_vllm" || !translation.isTrue("training.use_vllm")) return;
  for (const name of ["host", "port"]) {
    const node = translation.given(`vllm.${name}`);
    if (node !== undefined) translation.fill(`training.vllm_server_${name}`, toJson(node), node);
  }
  const address = ["host", "port"].map((name) => translation.given(`training.vllm_server_${name}`))
    .find((node) => node !== undefined);
  if (address !== undefined) translation.fill("training.vllm_mode", "server", address);
}

function translateTrackers(translation: Translation): void {
  const names = ["mlflow", "tensorboard"]
    .filter((name) => translation.isTrue(`axolotl.use_${name}`));
  if (names.length === 0) return;
  const others = translation.given("logging.wandb_project") === undefined ? [] : ["wandb"];
  const from = translation.given(`axolotl.use_${names[0]}`)!;
  translation.prefer("logging.report_to", [...others, ...names], from);
}

/** Plugins of which it is known that they change no result. */
function translatePlugins(translation: Translation): void {
  const path = "axolotl.plugins", plugins = translation.given(path);
  const names = plugins === undefined ? [] : [toJson(plugins)].flat();
  if (plugins === undefined || names.length === 0) return;
  const text = "rgx runs no Python; liger, cut_cross_entropy and kernels are accepted";
  if (names.every((name) => /\.(liger|cut_cross_entropy|kernels)\./.test(String(name)))) {
    translation.note(plugins, "plugins", `accepted, has no effect in rgx; ${text}`);
  } else translation.refuse(plugins, "plugins", `not supported yet by this version; ${text}`);
}
