/**
 * Loads a configuration file and everything that it inherits from: `_base_` (one path or a list)
 * and Hydra's `defaults` list. Bases are merged from left to right, then the file itself. Paths are
 * relative to the file that names them. A name without folder and extension, and `rgx:PATH`, mean
 * embedded files.
 */
import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize, posix, resolve } from "node:path";
import { didYouMean } from "../../core/suggest.ts";
import { canonicalise } from "./canonical.ts";
import { EMBEDDED, embeddedPath } from "../documents/embedded.ts";
import { withAxolotlNames } from "./axolotl_names.ts";
import { isOfVerl } from "../foreign/verl/verl.ts";
import { type Environment, interpolateText, withFileVariables } from "./interpolation.ts";
import { mergeMaps } from "../documents/node.ts";
import {
  asText,
  type ConfigNode,
  describeNode,
  emptyMap,
  isNull,
  type MapEntry,
  type MapNode,
  nodeAt,
  nowhere,
  type Position,
  type Problems,
  type ScalarNode,
  type Source,
  without,
} from "../documents/node.ts";
import { decodeUtf8, parseYaml } from "../documents/yaml_source.ts";

export const MAX_INHERITANCE = 16;

/** verl's own files of defaults, and the embedded file that has their values. */
const VERL_DEFAULTS: readonly string[] = ["ppo_trainer.yaml", "ppo_megatron_trainer.yaml"];
const VERLS = "verl/ppo_trainer.yaml";

/**
 * A configuration file: on disk, embedded in the program, or a text from a program that uses rgx.
 */
export type ConfigFile =
  | { kind: "disk"; path: string; shown: string }
  | { kind: "embedded"; path: string }
  /** `path` is where the file would be. The files that it names are relative to it. */
  | { kind: "text"; path: string; shown: string; text: string };

function shownName(file: ConfigFile): string {
  return file.kind === "embedded" ? `rgx:${file.path}` : file.shown;
}

function identity(file: ConfigFile): string {
  return file.kind === "embedded" ? `rgx:${file.path}` : file.path;
}

/** The embedded file with this path (given without `rgx:`), or null. */
export function embeddedFile(path: string): ConfigFile | null {
  const found = [path, `${path}.yaml`].find((name) => EMBEDDED.has(name)) ?? embeddedPath(path);
  return found === null ? null : { kind: "embedded", path: found };
}

export async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/**
 * The tree of a file merged over its bases. Errors go to `problems`.
 * @param options.isRun the file describes a run, and the tree becomes canonical; default true
 */
export async function loadInherited(
  file: ConfigFile,
  environment: Environment,
  problems: Problems,
  { isRun = true }: { isRun?: boolean } = {},
): Promise<MapNode> {
  const { tree, sources } = await new Inheritance(environment, problems, isRun).load(file, []);
  sources.forEach((source, i) => source.rank = i);
  return tree;
}

/** A file with all that it inherits: the tree, and its sources, the nearest last. */
interface Loaded {
  tree: MapNode;
  sources: readonly Source[];
}

class Inheritance {
  readonly #done = new Map<string, Loaded>();

  constructor(
    readonly environment: Environment,
    readonly problems: Problems,
    readonly isRun: boolean,
  ) {}

  async load(file: ConfigFile, chain: readonly ConfigFile[]): Promise<Loaded> {
    const done = this.#done.get(identity(file));
    if (done !== undefined) return done;
    const source: Source = {
      name: shownName(file),
      directory: file.kind === "embedded" ? null : dirname(file.path),
    };
    const document = await this.#read(file, source);
    if (document === null) {
      this.problems.incomplete = true;
      return { tree: emptyMap(nowhere(source)), sources: [] };
    }
    const entries = new Map(document.entries);
    const categories = this.isRun ? entries.get("categories") : undefined;
    if (categories !== undefined) {
      this.problems.incomplete = true;
      const text = `a file with categories is an evaluation: rgx eval --config ${source.name}`;
      this.problems.add(categories.keyAt, "categories", text);
      return { tree: emptyMap(document.at), sources: [] };
    }
    if (
      file.kind !== "embedded" && isOfVerl(entries) && !entries.has("defaults") &&
      !entries.has("_base_")
    ) {
      const text = "keys that are not written have the defaults of rgx; those of verl come with " +
        "defaults: [ppo_trainer, _self_]";
      this.problems.note(entries.get("actor_rollout_ref")!.keyAt, "actor_rollout_ref", text);
    }
    const bases = entries.get("_base_")?.node;
    const references: Reference[] = [
      ...bases === undefined || isNull(bases)
        ? []
        : this.#texts(bases, "_base_", "a path or a list of paths"),
      ...this.#defaultsReferences(entries.get("defaults"), isOfVerl(entries)),
    ];
    entries.delete("_base_");
    entries.delete("defaults");
    const own = withFileVariables({ ...document, entries }, source) as MapNode;
    const canonical = this.isRun
      ? canonicalise(withAxolotlNames(own, this.problems), this.problems)
      : own;
    const environment = { ...this.environment, ...variables(entries.get("env")?.node) };
    const path = [...chain, file];
    let merged: Loaded = { tree: emptyMap(canonical.at), sources: [] };
    const onTop = (under: Loaded, over: Loaded): Loaded => ({
      tree: leaveBehind(under.tree, mergeMaps(under.tree, over.tree), this.problems),
      sources: [...under.sources.filter((one) => !over.sources.includes(one)), ...over.sources],
    });
    const itself: Loaded = { tree: canonical, sources: [source] };
    let selfMerged = false;
    for (const reference of references) {
      if (reference.kind === "self") {
        merged = onTop(merged, itself);
        selfMerged = true;
      } else {
        const base = await this.#base(reference, file, path, environment);
        if (base === null && reference.optional) continue;
        if (base === null) this.problems.incomplete = true;
        else merged = onTop(merged, base);
      }
    }
    if (!selfMerged) merged = onTop(merged, itself);
    this.#done.set(identity(file), merged);
    return merged;
  }

  async #read(file: ConfigFile, source: Source): Promise<MapNode | null> {
    if (file.kind === "embedded") {
      return parseYaml(EMBEDDED.get(file.path)!, source, this.problems);
    }
    if (file.kind === "text") return parseYaml(file.text, source, this.problems);
    let bytes: Uint8Array;
    try {
      bytes = await readFile(file.path);
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      this.problems.add(nowhere(source), "", `can not be read: ${why}`);
      return null;
    }
    const text = decodeUtf8(bytes, source, this.problems);
    return text === null ? null : parseYaml(text, source, this.problems);
  }

  async #base(
    reference: FileReference,
    from: ConfigFile,
    chain: readonly ConfigFile[],
    environment: Environment,
  ): Promise<Loaded | null> {
    const { key, at } = reference;
    const scalar: ScalarNode = { kind: "scalar", value: reference.text, at };
    const text = interpolateText(scalar, key, environment, this.problems)?.value;
    if (text === undefined) return null;
    const file = await this.#locate(String(text), from, reference);
    if (file === null) return null;
    const names = [...chain, file].map(shownName).join(" → ");
    if (chain.some((earlier) => identity(earlier) === identity(file))) {
      this.problems.add(at, key, `leads back to itself: ${names}`);
      return null;
    }
    if (chain.length > MAX_INHERITANCE) {
      this.problems.add(at, key, `more than ${MAX_INHERITANCE} bases deep: ${names}`);
      return null;
    }
    return await this.load(file, chain);
  }

  async #locate(
    text: string,
    from: ConfigFile,
    { key, at, optional }: FileReference,
  ): Promise<ConfigFile | null> {
    if (text.startsWith("rgx:") || /^[^/\\.]+$/.test(text)) {
      const name = text.replace(/^rgx:/, "");
      const file = embeddedFile(name);
      if (file === null) {
        const names = [...EMBEDDED.keys()];
        const near = didYouMean(name, [...names, ...names.map((path) => posix.parse(path).name)]);
        const hint = near || "; a file on disk is named with its extension";
        this.problems.add(at, key, `no embedded configuration ${JSON.stringify(name)}${hint}`);
      }
      return file;
    }
    const verls = optional && VERL_DEFAULTS.includes(text) ? embeddedFile(VERLS) : null;
    if (from.kind === "embedded") {
      if (verls !== null) return verls;
      const path = posix.normalize(posix.join(posix.dirname(from.path), text));
      if (EMBEDDED.has(path)) return { kind: "embedded", path };
      this.problems.add(at, key, `no embedded configuration ${JSON.stringify(path)}`);
      return null;
    }
    const extensions = /\.\w+$/.test(text) ? [""] : ["", ".yaml", ".yml"];
    for (const extension of extensions) {
      const path = resolve(dirname(from.path), text + extension);
      if (!await isFile(path)) continue;
      // Messages quote the text of a file, and the file may be private to another person.
      if (!/\.(ya?ml|json|toml)$/i.test(path)) {
        this.problems.add(at, key, `${text}: expected a file of YAML or JSON (.yaml, .yml, .json)`);
        return null;
      }
      const shown = isAbsolute(text)
        ? path
        : normalize(join(dirname(from.shown), text + extension));
      return { kind: "disk", path, shown };
    }
    // A project may have only its own experiment on disk and still name ../base.yaml.
    const tail = posix.normalize(text.replaceAll("\\", "/")).replace(/^(\.\.\/)+/, "");
    if (verls !== null && !EMBEDDED.has(tail)) return verls;
    const isKnown = EMBEDDED.has(tail), stem = text.replace(/\.ya?ml$/, "");
    const named = isKnown || key === "defaults" ? embeddedFile(isKnown ? tail : stem) : null;
    if (named !== null) {
      this.problems.note(
        at,
        key,
        `${text} is not on disk, the embedded ${shownName(named)} is used`,
      );
      return named;
    }
    if (optional) {
      this.problems.note(at, key, `${text} is not on disk: a file of verl, ignored`);
      return null;
    }
    const expected = resolve(dirname(from.path), text);
    this.problems.add(at, key, `no such file: ${text} (looked for ${expected})`);
    return null;
  }

  #texts(node: ConfigNode, key: string, expected: string): FileReference[] {
    const items = node.kind === "list" ? node.items : [node];
    return items.flatMap((item) => {
      if (item.kind === "scalar" && typeof item.value === "string" && item.value !== "") {
        return [{ kind: "file" as const, text: item.value, at: item.at, key, optional: false }];
      }
      this.problems.incomplete = true;
      this.problems.add(item.at, key, `expected ${expected}, found ${describeNode(item)}`);
      return [];
    });
  }

  /**
   * The items of Hydra's list: `- _self_`, `- name`, `- group: name`.
   * @param optional whether missing files are ignored: verl's own defaults are only on disk with
   *   verl
   */
  #defaultsReferences(entry: MapEntry | undefined, optional: boolean): Reference[] {
    if (entry === undefined) return [];
    const key = "defaults";
    if (entry.node.kind !== "list") {
      this.problems.incomplete = true;
      this.problems.add(entry.node.at, key, `expected a list, found ${describeNode(entry.node)}`);
      return [];
    }
    return entry.node.items.flatMap((item): Reference[] => {
      if (item.kind === "scalar" && item.value === "_self_") return [{ kind: "self" }];
      if (item.kind !== "map") {
        return this.#texts(item, key, "a name, {group: name} or _self_").map((reference) => ({
          ...reference,
          optional,
          text: withExtension(reference.text),
        }));
      }
      return [...item.entries].flatMap(([group, { keyAt, node }]): Reference[] => {
        if (isNull(node)) return [];
        if (node.kind === "scalar" && typeof node.value === "string" && !group.includes(" ")) {
          const text = withExtension(`${group.replace(/^\//, "")}/${node.value}`);
          return [{ kind: "file", text, at: node.at, key, optional }];
        }
        this.problems.incomplete = true;
        this.problems.add(keyAt, key, `expected {group: name}, found {${group}: …}`);
        return [];
      });
    });
  }
}

interface FileReference {
  kind: "file";
  text: string;
  at: Position;
  key: string;
  /** Whether the file may be missing. */
  optional: boolean;
}
type Reference = FileReference | { kind: "self" };

/** A name in a `defaults` list means a YAML file beside the file that holds the list. */
function withExtension(name: string): string {
  return /\.ya?ml$/.test(name) || name.startsWith("rgx:") ? name : `${name}.yaml`;
}

/** The scalars of an `env` map, as text. */
export function variables(node: ConfigNode | undefined): Record<string, string> {
  if (node?.kind !== "map") return {};
  return Object.fromEntries(
    [...node.entries].flatMap(([name, entry]) =>
      entry.node.kind === "scalar" && entry.node.value !== null
        ? [[name, String(entry.node.value)]]
        : []
    ),
  );
}

/**
 * A section, a key that names something, and a key that belongs to the named thing. If a file or
 * the command line names another model than its base, the base's revision is dropped.
 */
const OWNED = [
  ["model", "model_name_or_path", "model_revision"],
  ["data", "dataset_name", "dataset_config"],
] as const;

/**
 * The tree `after` a merge, without the keys that belong to a name from `before` the merge. Each
 * dropped key gets a note. A key that comes with the merge is kept.
 */
export function leaveBehind(before: MapNode, after: MapNode, problems: Problems): MapNode {
  for (const [section, name, owned] of OWNED) {
    const key = nodeAt(after, [section, owned]);
    const old = asText(nodeAt(before, [section, name]))?.value;
    const now = asText(nodeAt(after, [section, name]))?.value;
    if (old === undefined || now === undefined || old === now) continue;
    if (key === undefined || key !== nodeAt(before, [section, owned])) continue;
    problems.note(key.at, key.foreign ?? owned, `belongs to ${old}, and is left out for ${now}`);
    after = without(after, [section, owned]);
  }
  return after;
}
