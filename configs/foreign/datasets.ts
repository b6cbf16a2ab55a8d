/**
 * Lists of data sets, as TRL (`datasets: [{path, name, data_files, split, columns}]` beside
 * `test_split_size`), Axolotl and open-r1 (`dataset_mixture`) have them. Each must name one data
 * set. Tasks have the key `datasets` too, and `path` tells the two lists apart.
 */
import { type ConfigNode, isNull, type Json, nearness, nodeAt, toJson } from "../documents/node.ts";
import type { Translation } from "./translation.ts";

/** The fields of an entry with the data set and its configuration, and what the others do. */
interface Fields {
  path: string;
  config: string;
  /** Fields without effect, which are taken in silence. */
  ignored: readonly string[];
  refused: (name: string) => string;
}

const unknown = (known: string) => (name: string) => `unknown key ${name} (known: ${known})`;

const COLUMNS = "accepted, has no effect in rgx: columns are known by their names; " +
  "dataset_prompt_column names that of the prompts";
const TRL: Fields = {
  path: "path",
  config: "name",
  ignored: [],
  refused: (name) =>
    name === "data_dir"
      ? "write the folder in path"
      : unknown("path, name, data_files, split, columns")(name),
};
const OF_AXOLOTL: Readonly<Record<string, string>> = {
  type:
    "Python is not run: write the rows that it makes into a file (prompt, answer, …), and name " +
    "that in path",
  revision: "name the folder of the data",
  data_dir: "write the folder in path",
};
const AXOLOTL: Fields = {
  path: "path",
  config: "name",
  ignored: ["ds_type", "trust_remote_code", "preprocess_shards"],
  refused: (name) =>
    OF_AXOLOTL[name] ??
      "not supported yet by this version; columns are known by their names (docs/tasks.md)",
};
const OPEN_R1: Fields = {
  path: "id",
  config: "config",
  ignored: ["columns"],
  refused: (name) =>
    name === "weight"
      ? "weight: all rows are read; max_examples takes only the first ones"
      : unknown("id, config, split, columns, weight")(name),
};

/** Formats that `load_dataset` has in place of the name of a data set. */
const FORMATS: readonly Json[] = ["json", "csv", "parquet"];
const ONE_SET = "rgx trains on one data set: join the files into one, and name it in dataset_name";

const LIST = "data.tasks", SIZE = "data.test_split_size", MIXTURE = "data.dataset_mixture";

export function translateDatasets(translation: Translation): void {
  const ofAxolotl = translation.given("axolotl.datasets");
  if (ofAxolotl !== undefined) new List(translation, AXOLOTL, "datasets").read(ofAxolotl);
  translateListOfTrl(translation);
  const mixture = translation.given(MIXTURE);
  if (mixture?.kind !== "map") return;
  const list = new List(translation, OPEN_R1, mixture.foreign ?? MIXTURE);
  for (const [name, { node }] of mixture.entries) {
    if (["datasets", "seed", "test_split_size"].includes(name)) continue;
    list.refuse(node, unknown("datasets, seed, test_split_size")(name));
  }
  list.read(nodeAt(mixture, ["datasets"]) ?? mixture);
  const test = nodeAt(mixture, ["test_split_size"]);
  if (test !== undefined && !isNull(test)) setTestSplit(translation, test);
}

function translateListOfTrl(translation: Translation): void {
  const list = translation.given(LIST), size = translation.given(SIZE);
  const isDataset = (item: ConfigNode) =>
    item.kind === "map" && ["path", "data_files"].some((name) => item.entries.has(name));
  if (list?.kind !== "list" || !list.items.some(isDataset)) {
    if (size === undefined) return;
    const text = "accepted, has no effect in rgx: in TRL it divides the list datasets: [{path}]; " +
      "data.train_ratio divides any data";
    return translation.note(size, text, "test_split_size");
  }
  translation.drop(LIST);
  const named = translation.given("data.dataset_name");
  const sets = new List(translation, TRL, "datasets");
  const order = named === undefined ? 1 : nearness(list, named);
  if (order < 0) {
    translation.problems.note(list.at, "datasets", "data.dataset_name is written too, and wins");
  } else if (order === 0 && !list.at.source.isLast) {
    sets.refuse(
      list,
      "dataset_name is written too: give one of the two (datasets: null takes the list away)",
    );
  } else sets.read(list);
  // A value of another type is reported where types are checked.
  if (translation.number(SIZE) !== null) setTestSplit(translation, size!);
}

/** Sets `data.train_ratio` to the share that remains after a share is held out. */
function setTestSplit(translation: Translation, size: ConfigNode): void {
  const value = toJson(size);
  if (typeof value !== "number" || value <= 0 || value >= 1) {
    return translation.refuse(size, "expected a share above 0 and below 1", "test_split_size");
  }
  translation.set("data.train_ratio", Number((1 - value).toPrecision(12)), size);
}

/** The data set that one entry of a list names. */
interface Dataset {
  place: ConfigNode & { kind: "scalar" };
  config: ConfigNode | undefined;
  split: ConfigNode | undefined;
}

class List {
  /** @param key the list's key, for messages */
  constructor(
    readonly translation: Translation,
    readonly fields: Fields,
    readonly key: string,
  ) {}

  refuse(node: ConfigNode, text: string, field = ""): null {
    // The data set is named, so that no second error says that it is missing.
    this.translation.problems.incomplete = true;
    this.translation.problems.add(node.at, this.key + field, text);
    return null;
  }

  /** Sets the data set. Several splits of one data set are read one after the other. */
  read(list: ConfigNode): void {
    const items = list.kind === "list" ? list.items : [];
    if (this.fields !== TRL && (items.length !== 1 || items[0]!.kind !== "map")) {
      this.refuse(list, `expected one data set; ${ONE_SET}`);
      return;
    }
    const read = items.map((item, i) => this.#entry(item, this.fields === OPEN_R1 ? "" : `.${i}`));
    const sets = read.filter((set) => set !== null), [first] = sets;
    if (first === undefined || sets.length < read.length) return;
    const identity = ({ place, config }: Dataset) =>
      JSON.stringify([place.value, config === undefined ? null : toJson(config)]);
    const other = sets.findIndex((set) => identity(set) !== identity(first));
    if (other > 0) {
      this.refuse(items[other]!, `${items.length} entries, expected one data set; ${ONE_SET}`);
      return;
    }
    const { translation } = this, { place, config } = first;
    translation.set("data.dataset_name", place.value, place);
    if (config !== undefined) translation.set("data.dataset_config", toJson(config), config);
    const from = sets.find(({ split }) => split !== undefined)?.split;
    if (from === undefined && sets.length === 1) return;
    const splits = sets.map(({ split }) => split === undefined ? "train" : toJson(split));
    translation.set("data.dataset_train_split", splits.join("+"), from ?? items[0]!);
  }

  #entry(item: ConfigNode, key: string): Dataset | null {
    const { fields, translation } = this;
    const at = (name: string) => {
      const node = nodeAt(item, [name]);
      return node === undefined || isNull(node) ? undefined : node;
    };
    const fail = (node: ConfigNode, text: string, name = "") =>
      this.refuse(node, text, name === "" || key === "" ? key : `${key}.${name}`);
    const path = at(fields.path), files = at("data_files"), split = at("split");
    if (item.kind !== "map" || (path ?? files) === undefined) {
      return fail(item, `${fields.path}, the name of the data set, is missing`);
    }
    const known = [fields.path, fields.config, "data_files", "split", ...fields.ignored];
    for (const [name, { node }] of item.entries) {
      const isOff = isNull(node) || (name === "weight" && toJson(node) === 1);
      if (known.includes(name) || isOff) continue;
      if (fields !== TRL || name !== "columns") return fail(node, fields.refused(name), name);
      translation.problems.note(node.at, `${this.key}${key}.${name}`, COLUMNS);
    }
    for (const [name, node] of [[fields.path, path], ["split", split]] as const) {
      if (node === undefined || typeof toJson(node) === "string") continue;
      return fail(node, "expected a text", name);
    }
    const text = path === undefined ? null : toJson(path) as string;
    if (files === undefined && FORMATS.includes(text)) {
      return fail(item, `${text} is a format: data_files names the file`);
    }
    const file = files === undefined ? text : onlyFile(files);
    if (file === null) {
      return fail(files!, "expected one file: join the files into one", "data_files");
    }
    if (files !== undefined && text !== null && !FORMATS.includes(text)) {
      const inside = `hf://datasets/${text}/${file}`;
      const advice =
        `write the file in path: ${inside}, or where ${text} is a folder ${text}/${file}`;
      return fail(files, advice, "data_files");
    }
    const foreign = fields === TRL ? { foreign: "datasets" } : {};
    const place = { kind: "scalar" as const, value: file, at: (files ?? path)!.at, ...foreign };
    return { place, config: at(fields.config), split };
  }
}

/** The one file that `data_files` names: a text, a list with it, or a map with one split. */
function onlyFile(files: ConfigNode): string | null {
  const isMap = files.kind === "map" && files.entries.size === 1;
  const [name, ...more] = [toJson(isMap ? nodeAt(files, ["train"]) ?? files : files)].flat();
  return more.length === 0 && typeof name === "string" ? name : null;
}
