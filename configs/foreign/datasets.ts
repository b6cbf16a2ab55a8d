/**
 * Lists of data sets, as TRL (`datasets: [{path, name, data_files, split, columns}]` beside
 * `test_split_size`), Axolotl and open-r1 (`dataset_mixture`) have them. Each must name one data
 * set. Tasks have the key `datasets` too, and `path` tells the two lists apart.
 */
import { type ConfigNode, isNull, type Json, nearness, nodeAt, toJson } from "../documents/node.ts";
import { NO_EFFECT, type Translation } from "./translation.ts";

/** Fields of an entry that are taken in silence, as they say how rows are read. */
const IGNORED = ["columns", "ds_type", "trust_remote_code", "preprocess_shards"];
/** Why other fields are refused. */
const REFUSED: Readonly<Record<string, string>> = {
  type: "Python is not run: write the rows that it makes into a file (prompt, answer, …), and " +
    "name that in path",
  data_dir: "write the folder in path",
  weight: "weight: all rows are read; max_examples takes only the first ones",
};
const PARTS = ["datasets", "seed", "test_split_size"];

/** Formats that `load_dataset` has in place of the name of a data set. */
const FORMATS: readonly Json[] = ["json", "csv", "parquet"];
const ONE_SET = "rgx trains on one data set: join the files into one, and name it in dataset_name";

const LIST = "data.tasks", SIZE = "data.test_split_size", MIXTURE = "data.dataset_mixture";

export function translateDatasets(keys: Translation): void {
  const ofAxolotl = keys.given("axolotl.datasets"), mixture = keys.given(MIXTURE);
  if (ofAxolotl !== undefined) readList(keys, ofAxolotl, "datasets");
  translateListOfTrl(keys);
  if (mixture?.kind !== "map") return;
  const key = mixture.foreign ?? MIXTURE;
  for (const [name, { node }] of mixture.entries) {
    if (PARTS.includes(name)) continue;
    refuse(keys, node, key, `unknown key ${name} (known: ${PARTS.join(", ")})`);
  }
  readList(keys, nodeAt(mixture, "datasets") ?? mixture, key, "id", "config");
  const test = keys.given(`${MIXTURE}.test_split_size`);
  if (test !== undefined) setTestSplit(keys, test);
}

function translateListOfTrl(keys: Translation): void {
  const list = keys.given(LIST), size = keys.given(SIZE);
  const isDataset = (item: ConfigNode) =>
    item.kind === "map" && ["path", "data_files"].some((name) => item.entries.has(name));
  if (list?.kind !== "list" || !list.items.some(isDataset)) {
    if (size === undefined) return;
    const text = `${NO_EFFECT}: in TRL it divides the list datasets: [{path}]; data.train_ratio ` +
      "divides any data";
    return keys.note(size, text, "test_split_size");
  }
  keys.drop(LIST);
  const named = keys.given("data.dataset_name");
  if (named !== undefined && nearness(list, named) <= 0 && !list.at.source.isLast) {
    keys.set("data.dataset_name", "a list", { ...list, foreign: "datasets" });
  } else readList(keys, list, "datasets");
  // A value of another type is reported where types are checked.
  if (keys.number(SIZE) !== null) setTestSplit(keys, size!);
}

/** Sets `data.train_ratio` to the share that remains after a share is held out. */
function setTestSplit(keys: Translation, size: ConfigNode): void {
  const value = toJson(size);
  if (typeof value !== "number" || value <= 0 || value >= 1) {
    return keys.refuse(size, "expected a share above 0 and below 1", "test_split_size");
  }
  keys.set("data.train_ratio", Number((1 - value).toPrecision(12)), size);
}

function refuse(keys: Translation, node: ConfigNode, key: string, text: string): null {
  // The data set is named, so that no second error says that it is missing.
  keys.problems.incomplete = true;
  keys.problems.add(node.at, key, text);
  return null;
}

/** Sets the data set. Several splits of one data set are read one after the other. */
function readList(
  keys: Translation,
  list: ConfigNode,
  key: string,
  path = "path",
  config = "name",
): void {
  const items = list.kind === "list" ? list.items : [];
  if (items.length === 0) return void refuse(keys, list, key, `expected one data set; ${ONE_SET}`);
  const sets = items.map((item, i) => readEntry(keys, item, `${key}.${i}`, path, config))
    .filter((set) => set !== null);
  if (sets.length < items.length) return;
  const [first] = sets as [Dataset],
    id = ({ place, config }: Dataset) => JSON.stringify([place.value, config && toJson(config)]);
  const other = sets.findIndex((set) => id(set) !== id(first));
  if (other > 0) {
    const text = `${items.length} entries, expected one data set; ${ONE_SET}`;
    return void refuse(keys, items[other]!, key, text);
  }
  keys.set("data.dataset_name", first.place.value, first.place);
  if (first.config !== undefined) {
    keys.set("data.dataset_config", toJson(first.config), first.config);
  }
  const from = sets.find(({ split }) => split !== undefined)?.split;
  if (from === undefined && sets.length === 1) return;
  const splits = sets.map(({ split }) => split === undefined ? "train" : toJson(split));
  keys.set("data.dataset_train_split", splits.join("+"), from ?? items[0]!);
}

/** The data set that one entry of a list names. */
interface Dataset {
  place: ConfigNode & { kind: "scalar" };
  config: ConfigNode | undefined;
  split: ConfigNode | undefined;
}

function readEntry(
  keys: Translation,
  item: ConfigNode,
  key: string,
  of: string,
  config: string,
): Dataset | null {
  const at = (name: string) => {
    const node = nodeAt(item, [name]);
    return node === undefined || isNull(node) ? undefined : node;
  };
  const path = at(of), files = at("data_files"), split = at("split");
  if (item.kind !== "map" || (path ?? files) === undefined) {
    return refuse(keys, item, key, `${of}, the name of the data set, is missing`);
  }
  const known = [of, config, "data_files", "split"];
  for (const [name, { node }] of item.entries) {
    const isOff = isNull(node) || (name === "weight" && toJson(node) === 1);
    if (known.includes(name) || IGNORED.includes(name) || isOff) continue;
    const text = Object.hasOwn(REFUSED, name)
      ? REFUSED[name]!
      : `unknown key ${name} (known: ${known.join(", ")}); columns are known by their names`;
    return refuse(keys, node, `${key}.${name}`, text);
  }
  for (const [name, node] of [[of, path], ["split", split]] as const) {
    if (node === undefined || typeof toJson(node) === "string") continue;
    return refuse(keys, node, `${key}.${name}`, "expected a text");
  }
  const text = path === undefined ? null : toJson(path) as string;
  const isFormat = FORMATS.includes(text), file = files === undefined ? text : onlyFile(files);
  if (files === undefined && isFormat) {
    return refuse(keys, item, key, `${text} is a format: data_files names the file`);
  }
  const isInside = files !== undefined && text !== null && !isFormat;
  if (file === null || isInside) {
    const advice = file === null
      ? "expected one file: join the files into one"
      : `write the file in path: hf://datasets/${text}/${file}, or ${text}/${file} of a folder`;
    return refuse(keys, files!, `${key}.data_files`, advice);
  }
  const foreign = of === "path" ? { foreign: "datasets" } : {};
  const place = { kind: "scalar" as const, value: file, at: (files ?? path)!.at, ...foreign };
  return { place, config: at(config), split };
}

/** The one file that `data_files` names: a text, a list with it, or a map with one split. */
function onlyFile(files: ConfigNode): string | null {
  const isMap = files.kind === "map" && files.entries.size === 1;
  const [name, ...more] = [toJson(isMap ? nodeAt(files, "train") ?? files : files)].flat();
  return more.length === 0 && typeof name === "string" ? name : null;
}
