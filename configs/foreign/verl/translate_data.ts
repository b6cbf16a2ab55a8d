/** Translates verl's files, the number of rows of them, and what becomes of long prompts. */
import { type ConfigNode, describeNode, nearness } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

export function translateData(translation: Translation): void {
  translateFiles(translation);
  const filter = translation.given("data.filter_overlong_prompts");
  if (filter !== undefined && translation.isTrue("data.filter_overlong_prompts")) {
    const text = "prompts that are too long are not left out: they end the run before its first " +
      "step, with their number";
    translation.note(filter, "data.filter_overlong_prompts", text);
  }
  // verl's data.seed is that of the order of prompts; rgx's is that of a task's problems.
  const seed = translation.number("data.seed");
  if (translation.node("actor_rollout_ref") !== undefined && seed === null) {
    translation.drop("data.seed");
  }
  if (seed !== null && translation.given("data.train_files") !== undefined) {
    translation.prefer("training.data_seed", seed.value, seed.node);
  }
}

/** The file is the data set, unless a task or a data set is named. */
function translateFiles(translation: Translation): void {
  const train = translation.given("data.train_files"), val = translation.given("data.val_files");
  if (train === undefined) return;
  const file = oneFile(train, "data.train_files", translation);
  const held = val === undefined ? null : oneFile(val, "data.val_files", translation);
  const named = ["tasks", "task_name", "dataset_name"].map((name) => `data.${name}`)
    .find((path) => translation.given(path) !== undefined);
  if (named !== undefined && nearness(train, translation.given(named)!) <= 0) {
    return translation.note(train, "data.train_files", `is not read: problems are of ${named}`);
  }
  if (file === null) return;
  translation.set("data.dataset_name", file, train);
  if (val === undefined || held === null) return;
  const wanted = translation.number("data.val_max_samples");
  const isLimited = wanted !== null && wanted.value > 0;
  const isAsked = ["eval.num_examples", "data.test_examples"]
    .some((path) => (translation.number(path)?.value ?? 0) > 0);
  if (!isLimited && !isAsked && !isEvaluated(translation)) {
    return translation.note(val, "data.val_files", "is not read: no evaluation is asked for");
  }
  translation.set("data.eval_dataset_name", held, val);
  if (isLimited) translation.prefer("eval.num_examples", wanted.value, wanted.node);
  else translation.fill("eval.num_examples", ALL, val);
}

/** Files with more rows than this have no meaning: all are held out. */
const ALL = 1_000_000;

function isEvaluated(translation: Translation): boolean {
  return (translation.number("trainer.test_freq")?.value ?? 0) > 0 ||
    translation.isTrue("trainer.val_before_train");
}

function oneFile(node: ConfigNode, path: string, translation: Translation): string | null {
  const one = node.kind === "list" && node.items.length === 1 ? node.items[0]! : node;
  if (one.kind === "scalar" && typeof one.value === "string") return one.value;
  const text = node.kind === "list"
    ? `${node.items.length} files: join them into one`
    : `expected a file, found ${describeNode(node)}`;
  translation.refuse(node, path, text);
  // That no data set is named follows from it.
  translation.problems.incomplete = true;
  return null;
}
