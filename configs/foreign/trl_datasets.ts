/**
 * TRL's list of data sets, `datasets: [{path, name, data_files, split, columns}]` beside
 * `test_split_size`. Tasks have the same key, and `path` tells the two lists apart.
 */
import {
  type ConfigNode,
  isNull,
  type MapNode,
  nearness,
  nodeAt,
  toJson,
} from "../documents/node.ts";
import type { Translation } from "./translation.ts";

const LIST = "data.tasks";
const SIZE = "data.test_split_size";
/** Formats that `load_dataset` has in place of the name of a data set. */
const FORMATS = ["json", "csv", "parquet"];
/** What to do with several data sets. */
export const ONE_SET =
  "rgx trains on one data set: join the files into one, and name it in dataset_name";

type Refuse = (node: ConfigNode, text: string, field?: string) => void;

export function translateDatasets(translation: Translation): void {
  const list = translation.given(LIST), size = translation.given(SIZE);
  if (list?.kind !== "list" || !list.items.some(isDataset)) {
    if (size === undefined) return;
    const text = "accepted, has no effect in rgx: in TRL it divides the list datasets: [{path}]; " +
      "data.train_ratio divides any data";
    return translation.note(size, "test_split_size", text);
  }
  translation.drop("data", "tasks");
  const refuse: Refuse = (node, text, field = "") => {
    // The data set is named, so that none is missing.
    translation.problems.incomplete = true;
    translation.problems.add(node.at, `datasets${field}`, text);
  };
  const named = translation.given("data.dataset_name");
  const order = named === undefined ? 1 : nearness(list, named);
  if (order < 0) {
    translation.problems.note(list.at, "datasets", "data.dataset_name is written too, and wins");
  } else if (order === 0 && !list.at.source.isLast) {
    refuse(
      list,
      "dataset_name is written too: give one of the two (datasets: null takes the list away)",
    );
  } else setDataset(translation, list.items, refuse);
  // A value of another type is reported where types are checked.
  if (translation.number(SIZE) !== null) setTestSplit(translation, size!);
}

/** Sets `data.train_ratio` to what a share that is held out leaves: TRL's `test_split_size`. */
export function setTestSplit(translation: Translation, size: ConfigNode): void {
  const value = toJson(size);
  if (typeof value !== "number" || value <= 0 || value >= 1) {
    return translation.refuse(size, "test_split_size", "expected a share above 0 and below 1");
  }
  translation.set("data", "train_ratio", Number((1 - value).toPrecision(12)), size);
}

/**
 * The file that `data_files` names in a format that `path` names (or that nothing does), else null
 * after a refusal.
 */
export function fileOf(
  path: string | null,
  files: ConfigNode,
  refuse: (node: ConfigNode, text: string) => void,
): string | null {
  const only = files.kind === "map" && files.entries.size === 1
    ? nodeAt(files, ["train"]) ?? files
    : files;
  const names = [toJson(only)].flat();
  if (names.length !== 1 || typeof names[0] !== "string") {
    refuse(files, "expected one file: join the files into one");
    return null;
  }
  if (path === null || FORMATS.includes(path)) return names[0];
  const inside = `hf://datasets/${path}/${names[0]}`;
  const text = `write the file in path: ${inside}, or where ${path} is a folder ` +
    `${path}/${names[0]}`;
  refuse(files, text);
  return null;
}

function isDataset(item: ConfigNode): item is MapNode {
  return item.kind === "map" && ["path", "data_files"].some((name) => item.entries.has(name));
}

/** What one entry of the list names. */
interface Dataset {
  place: ConfigNode & { kind: "scalar" };
  config: ConfigNode | undefined;
  split: string;
  splitAt: ConfigNode | undefined;
}

function setDataset(translation: Translation, items: readonly ConfigNode[], refuse: Refuse): void {
  const read = items.map((item, i) => readDataset(translation, item, `.${i}`, refuse));
  const sets = read.filter((set) => set !== null);
  if (sets.length < read.length) return;
  const first = sets[0]!,
    identity = ({ place, config }: Dataset) =>
      JSON.stringify([place.value, config === undefined ? null : toJson(config)]);
  const other = sets.findIndex((set) => identity(set) !== identity(first));
  if (other > 0) {
    return refuse(items[other]!, `${items.length} entries, expected one data set; ${ONE_SET}`);
  }
  translation.set("data", "dataset_name", first.place.value, first.place);
  if (first.config !== undefined) {
    translation.set("data", "dataset_config", toJson(first.config), first.config);
  }
  // Several splits of one data set are read one after the other.
  const from = sets.find(({ splitAt }) => splitAt !== undefined)?.splitAt;
  const splits = sets.map(({ split }) => split).join("+");
  if (from !== undefined || sets.length > 1) {
    translation.set("data", "dataset_train_split", splits, from ?? items[0]!);
  }
}

function readDataset(
  translation: Translation,
  item: ConfigNode,
  key: string,
  refuse: Refuse,
): Dataset | null {
  const field = (name: string) => {
    const node = nodeAt(item, [name]);
    return node === undefined || isNull(node) ? undefined : node;
  };
  const path = field("path"), files = field("data_files"), split = field("split");
  const fail = (node: ConfigNode, text: string, name = "") => {
    refuse(node, text, name === "" ? key : `${key}.${name}`);
    return null;
  };
  if (item.kind !== "map" || path === undefined) {
    return fail(item, "path, the name or the file of the data set, is missing");
  }
  for (const [name, { node }] of item.entries) {
    if (["path", "name", "data_files", "split"].includes(name) || isNull(node)) continue;
    if (name === "columns") {
      const text = "accepted, has no effect in rgx: columns are known by their names; " +
        "dataset_prompt_column names that of the prompts";
      translation.problems.note(node.at, `datasets${key}.columns`, text);
    } else if (name === "data_dir") return fail(node, "write the folder in path", name);
    else {
      const known = "path, name, data_files, split, columns";
      return fail(node, `unknown key ${name} (known: ${known})`, name);
    }
  }
  for (const [name, node] of [["path", path], ["split", split]] as const) {
    if (node === undefined || typeof toJson(node) === "string") continue;
    return fail(node, "expected a text", name);
  }
  const text = toJson(path) as string;
  const file = files === undefined
    ? text
    : fileOf(text, files, (node, why) => fail(node, why, "data_files"));
  if (file === null) return null;
  if (files === undefined && FORMATS.includes(text)) {
    return fail(item, `${text} is a format: data_files names the file`);
  }
  return {
    place: { kind: "scalar", value: file, at: (files ?? path).at, foreign: "datasets" },
    config: field("name"),
    split: split === undefined ? "train" : toJson(split) as string,
    splitAt: split,
  };
}
