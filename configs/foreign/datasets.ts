/**
 * Lists of data sets, as TRL (`datasets: [{path, name, data_files, split, columns}]` beside
 * `test_split_size`), Axolotl and open-r1 (`dataset_mixture`) have them. Each must name one data
 * set. Tasks have the key `datasets` too, and `path` tells the two lists apart.
 */
import { type ConfigNode, isNull, type Json, nearness, nodeAt, toJson } from "../documents/node.ts";
import { NO_EFFECT, NOT_YET, type Translation } from "./translation.ts";

/** The fields of an entry with the data set and its configuration, and what the others do. */
interface Fields {
  path: string;
  config: string;
  /** Fields without effect, which are taken in silence. */
  ignored: readonly string[];
  /** Why a field is refused; `*` is any other. */
  refused: Readonly<Record<string, string>>;
}

const TRL: Fields = {
  path: "path",
  config: "name",
  ignored: [],
  refused: {
    data_dir: "write the folder in path",
    "*": "unknown key NAME (known: path, name, data_files, split, columns)",
  },
};
const COLUMNS = "columns are known by their names";
const AXOLOTL: Fields = {
  path: "path",
  config: "name",
  ignored: ["ds_type", "trust_remote_code", "preprocess_shards"],
  refused: {
    type: "Python is not run: write the rows that it makes into a file (prompt, answer, …), and " +
      "name that in path",
    revision: "name the folder of the data",
    data_dir: "write the folder in path",
    "*": `${NOT_YET}; ${COLUMNS} (docs/tasks.md)`,
  },
};
const OPEN_R1: Fields = {
  path: "id",
  config: "config",
  ignored: ["columns"],
  refused: {
    weight: "weight: all rows are read; max_examples takes only the first ones",
    "*": "unknown key NAME (known: id, config, split, columns, weight)",
  },
};
const PARTS = ["datasets", "seed", "test_split_size"];

/** Formats that `load_dataset` has in place of the name of a data set. */
const FORMATS: readonly Json[] = ["json", "csv", "parquet"];
const ONE_SET = "rgx trains on one data set: join the files into one, and name it in dataset_name";

const LIST = "data.tasks", SIZE = "data.test_split_size", MIXTURE = "data.dataset_mixture";

export function translateDatasets(keys: Translation): void {
  const ofAxolotl = keys.given("axolotl.datasets"), mixture = keys.given(MIXTURE);
  if (ofAxolotl !== undefined) new List(keys, AXOLOTL, "datasets").read(ofAxolotl);
  translateListOfTrl(keys);
  if (mixture?.kind !== "map") return;
  const list = new List(keys, OPEN_R1, mixture.foreign ?? MIXTURE);
  for (const [name, { node }] of mixture.entries) {
    if (!PARTS.includes(name)) {
      list.refuse(node, `unknown key ${name} (known: ${PARTS.join(", ")})`);
    }
  }
  list.read(nodeAt(mixture, "datasets") ?? mixture);
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
  const named = keys.given("data.dataset_name"), sets = new List(keys, TRL, "datasets");
  const order = named === undefined ? 1 : nearness(list, named);
  if (order < 0) {
    keys.problems.note(list.at, "datasets", "data.dataset_name is written too, and wins");
  } else if (order === 0 && !list.at.source.isLast) {
    const text =
      "dataset_name is written too: give one of the two (datasets: null takes the list " +
      "away)";
    sets.refuse(list, text);
  } else sets.read(list);
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

/** The data set that one entry of a list names. */
interface Dataset {
  place: ConfigNode & { kind: "scalar" };
  config: ConfigNode | undefined;
  split: ConfigNode | undefined;
}

class List {
  /** @param key the list's key, for messages */
  constructor(readonly keys: Translation, readonly fields: Fields, readonly key: string) {}

  refuse(node: ConfigNode, text: string, field = ""): null {
    // The data set is named, so that no second error says that it is missing.
    this.keys.problems.incomplete = true;
    this.keys.problems.add(node.at, this.key + field, text);
    return null;
  }

  /** Sets the data set. Several splits of one data set are read one after the other. */
  read(list: ConfigNode): void {
    const items = list.kind === "list" ? list.items : [], { keys } = this;
    if (this.fields !== TRL && (items.length !== 1 || items[0]!.kind !== "map")) {
      return void this.refuse(list, `expected one data set; ${ONE_SET}`);
    }
    const read = items.map((item, i) => this.#entry(item, this.fields === OPEN_R1 ? "" : `.${i}`));
    const sets = read.filter((set) => set !== null), [first] = sets;
    if (first === undefined || sets.length < read.length) return;
    const identity = ({ place, config }: Dataset) =>
      JSON.stringify([place.value, config === undefined ? null : toJson(config)]);
    const other = sets.findIndex((set) => identity(set) !== identity(first));
    if (other > 0) {
      const text = `${items.length} entries, expected one data set; ${ONE_SET}`;
      return void this.refuse(items[other]!, text);
    }
    const { place, config } = first;
    keys.set("data.dataset_name", place.value, place);
    if (config !== undefined) keys.set("data.dataset_config", toJson(config), config);
    const from = sets.find(({ split }) => split !== undefined)?.split;
    if (from === undefined && sets.length === 1) return;
    const splits = sets.map(({ split }) => split === undefined ? "train" : toJson(split));
    keys.set("data.dataset_train_split", splits.join("+"), from ?? items[0]!);
  }

  #entry(item: ConfigNode, key: string): Dataset | null {
    const { fields, keys: { problems } } = this, of = fields.path;
    const at = (name: string) => {
      const node = nodeAt(item, [name]);
      return node === undefined || isNull(node) ? undefined : node;
    };
    const fail = (node: ConfigNode, text: string, name = "") =>
      this.refuse(node, text, name === "" || key === "" ? key : `${key}.${name}`);
    const path = at(of), files = at("data_files"), split = at("split");
    if (item.kind !== "map" || (path ?? files) === undefined) {
      return fail(item, `${of}, the name of the data set, is missing`);
    }
    const known = [of, fields.config, "data_files", "split", ...fields.ignored];
    for (const [name, { node }] of item.entries) {
      const isOff = isNull(node) || (name === "weight" && toJson(node) === 1);
      if (known.includes(name) || isOff) continue;
      if (fields !== TRL || name !== "columns") {
        const why = Object.hasOwn(fields.refused, name) ? name : "*";
        return fail(node, fields.refused[why]!.replace("NAME", () => name), name);
      }
      const text = `${NO_EFFECT}: ${COLUMNS}; dataset_prompt_column names that of the prompts`;
      problems.note(node.at, `${this.key}${key}.${name}`, text);
    }
    for (const [name, node] of [[of, path], ["split", split]] as const) {
      if (node === undefined || typeof toJson(node) === "string") continue;
      return fail(node, "expected a text", name);
    }
    const text = path === undefined ? null : toJson(path) as string;
    const isFormat = FORMATS.includes(text), file = files === undefined ? text : onlyFile(files);
    if (files === undefined && isFormat) {
      return fail(item, `${text} is a format: data_files names the file`);
    }
    if (file === null) {
      return fail(files!, "expected one file: join the files into one", "data_files");
    }
    if (files !== undefined && text !== null && !isFormat) {
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
  const [name, ...more] = [toJson(isMap ? nodeAt(files, "train") ?? files : files)].flat();
  return more.length === 0 && typeof name === "string" ? name : null;
}
