/**
 * Lists of data sets, as TRL (`datasets: [{path, name, data_files, split, columns}]` beside
 * `test_split_size`), Axolotl and open-r1 (`dataset_mixture`) have them. Each must name one data
 * set. Tasks have the key `datasets` too, and `path` tells the two lists apart.
 */
import { type ConfigNode, isNull, type Json, nearness, nodeAt, toJson } from "../documents/node.ts";
import type { Translation } from "./translation.ts";

interface Fields {
  /** The fields with the name of the data set, and with its configuration. */
  path: string;
  config: string;
  /** Fields without effect, which are taken in silence. */
  ignored: readonly string[];
  /** Fields without effect → the note about them. */
  noted: Readonly<Record<string, string>>;
  refused: Readonly<Record<string, string>>;
  otherwise: (name: string) => string;
}

const unknown = (known: string) => (name: string) => `unknown key ${name} (known: ${known})`;

const TRL: Fields = {
  path: "path",
  config: "name",
  ignored: [],
  noted: {
    columns: "columns are known by their names; dataset_prompt_column names that of the prompts",
  },
  refused: { data_dir: "write the folder in path" },
  otherwise: unknown("path, name, data_files, split, columns"),
};
const AXOLOTL: Fields = {
  ...TRL,
  ignored: ["ds_type", "trust_remote_code", "preprocess_shards"],
  noted: {},
  refused: {
    type:
      "Python is not run: write the rows that it makes into a file (prompt, answer, …), and name " +
      "that in path",
    revision: "name the folder of the data",
  },
  otherwise: () =>
    "not supported yet by this version; columns are known by their names (docs/tasks.md)",
};
const OPEN_R1: Fields = {
  path: "id",
  config: "config",
  ignored: ["columns"],
  noted: {},
  refused: { weight: "weight: all rows are read; max_examples takes only the first ones" },
  otherwise: unknown("id, config, split, columns, weight"),
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
  const named = translation.given("data.dataset_name"),
    sets = new List(translation, TRL, "datasets");
  const order = named === undefined ? 1 : nearness(list, named);
  if (order < 0) {
    translation.problems.note(list.at, "datasets", "data.dataset_name is written too, and wins");
  } else if (order === 0 && !list.at.source.isLast) {
    const text =
      "dataset_name is written too: give one of the two (datasets: null takes the list " +
      "away)";
    sets.refuse(list, text);
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
    const { fields } = this;
    const at = (name: string) => {
      const node = nodeAt(item, [name]);
      return node === undefined || isNull(node) ? undefined : node;
    };
    const path = at(fields.path), files = at("data_files"), split = at("split");
    const fail = (node: ConfigNode, text: string, name = "") =>
      this.refuse(node, text, name === "" || key === "" ? key : `${key}.${name}`);
    if (item.kind !== "map" || (path ?? files) === undefined) {
      return fail(item, `${fields.path}, the name of the data set, is missing`);
    }
    for (const [name, { node }] of item.entries) {
      if ([fields.path, fields.config, "data_files", "split", ...fields.ignored].includes(name)) {
        continue;
      }
      if (isNull(node) || (name === "weight" && toJson(node) === 1)) continue;
      if (fields.noted[name] === undefined) {
        return fail(node, fields.refused[name] ?? fields.otherwise(name), name);
      }
      const text = `accepted, has no effect in rgx: ${fields.noted[name]}`;
      this.translation.problems.note(node.at, `${this.key}${key}.${name}`, text);
    }
    for (const [name, node] of [[fields.path, path], ["split", split]] as const) {
      if (node === undefined || typeof toJson(node) === "string") continue;
      return fail(node, "expected a text", name);
    }
    const text = path === undefined ? null : toJson(path) as string;
    if (files === undefined && FORMATS.includes(text)) {
      return fail(item, `${text} is a format: data_files names the file`);
    }
    const file = files === undefined
      ? text
      : this.#file(text, files, (why) => fail(files, why, "data_files"));
    if (file === null) return null;
    const foreign = this.fields === TRL ? { foreign: "datasets" } : {};
    const place = { kind: "scalar" as const, value: file, at: (files ?? path)!.at, ...foreign };
    return { place, config: at(fields.config), split };
  }

  /** The file that `data_files` names in a format, else null after a refusal. */
  #file(path: string | null, files: ConfigNode, fail: (why: string) => null): string | null {
    const only = files.kind === "map" && files.entries.size === 1
      ? nodeAt(files, ["train"]) ?? files
      : files;
    const names = [toJson(only)].flat();
    if (names.length !== 1 || typeof names[0] !== "string") {
      return fail("expected one file: join the files into one");
    }
    if (path === null || FORMATS.includes(path)) return names[0];
    const inside = `hf://datasets/${path}/${names[0]}`;
    return fail(
      `write the file in path: ${inside}, or where ${path} is a folder ${path}/${names[0]}`,
    );
  }
}
