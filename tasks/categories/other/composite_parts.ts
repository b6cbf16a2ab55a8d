/**
 * Mixes the data sets of several tasks by weight (reasoning-gym's composite). For each index i, a
 * draw chooses one of the data sets, and the result is entry i of that data set, unchanged; its
 * `source_dataset` names the task.
 *
 * Data sets can be added, removed, reconfigured and weighted anew while entries are read. With
 * `versions`, each configuration gets the next number, entries carry `version_id` and `entry_id` =
 * "version.index", and an entry can be fetched again by this id.
 *
 * A draw depends only on (seed, split, i) and the weights. Adding a data set therefore changes only
 * the entries that the new one receives.
 *
 * Making data sets and scoring answers need the registry, so they are not done here; see
 * `composite_dataset.ts`.
 */
import { UsageError } from "../../../core/errors.ts";
import { RandomStream, type Split } from "../../../core/philox.ts";
import { didYouMean } from "../../../core/suggest.ts";
import type { Entry } from "../../types.ts";

/** One data set of a composite. */
export interface CompositePart {
  /** Name of a task. It is unique among the parts. */
  name: string;
  /** Weight in the draw, relative to the other parts. Above 0; `updateWeight` may set it to 0. */
  weight: number;
  /** Parameters of the task, and optionally `seed` and `size`. */
  config: Readonly<Record<string, unknown>>;
}

export interface CompositeOptions {
  seed: number;
  size: number;
  split: Split;
  /**
   * Makes the data set of a part. Callers pass `createDataset`; importing it here would be a
   * circle, because the registry contains the composite task.
   */
  create: (name: string, options: Record<string, unknown>) => { entry(index: number): Entry };
  /** Whether entries carry the number of the configuration that made them. Default: false. */
  versions?: boolean;
}

interface OpenPart extends CompositePart {
  entries: { entry(index: number): Entry };
  seed: number;
  version: number;
}

/** Number of the newest versions whose entries can still be fetched by id. */
const KEPT_VERSIONS = 10;

/** The tasks of a composite, with their weights. */
export class CompositeParts {
  readonly #parts: OpenPart[] = [];
  readonly #versions = new Map<number, OpenPart["entries"]>();
  #nextVersion = 1;

  /**
   * Opens the data sets of a mixture.
   * @throws UsageError for an unknown task, field or value, an empty list, or a repeated name
   */
  constructor(parts: readonly CompositePart[], private readonly options: CompositeOptions) {
    if (parts.length === 0) throw new UsageError("composite: at least one data set is needed");
    for (const part of parts) this.addDataset(part);
  }

  /** Names, weights and configurations, in order. */
  get parts(): readonly Readonly<CompositePart>[] {
    return this.#parts.map(({ name, weight, config }) => ({ name, weight, config }));
  }

  /**
   * Returns the entry at `index` of the mix.
   * @param sourceIndex index within the data set that the draw for `index` chooses
   */
  entry(index: number, sourceIndex = index): Entry {
    const { seed, split, versions } = this.options;
    const random = RandomStream.forTask(seed, split, "composite", index);
    const total = this.#parts.reduce((sum, { weight }) => sum + weight, 0);
    let left = random.random() * total;
    let chosen = this.#parts[0]!;
    for (const part of this.#parts) {
      if (part.weight === 0) continue;
      chosen = part;
      if ((left -= part.weight) < 0) break;
    }
    const entry = chosen.entries.entry(sourceIndex);
    if (!versions) return entry;
    const { version } = chosen;
    const ids = { version_id: version, entry_id: `${version}.${sourceIndex}` };
    return { ...entry, metadata: { ...entry.metadata, ...ids } };
  }

  /**
   * Returns an entry again, by its `entry_id`.
   * @throws UsageError when the id is unknown or its version is no longer kept
   */
  entryById(entryId: string): Entry {
    const match = /^([0-9]+)\.([0-9]+)$/.exec(entryId);
    const entries = match === null ? undefined : this.#versions.get(Number(match[1]));
    if (entries === undefined) {
      const known = [...this.#versions.keys()].join(", ");
      throw new UsageError(
        `composite: no entry "${entryId}": expected version.index, and the versions that are ` +
          "kept are " +
          (known || "none (open the data set with versions)"),
      );
    }
    return entries.entry(Number(match![2]));
  }

  /**
   * Adds a data set; entries from now on may be of it.
   * @throws UsageError when the name is already in use or the data set cannot be made
   */
  addDataset(part: CompositePart): void {
    if (this.#parts.some(({ name }) => name === part.name)) {
      throw new UsageError(`composite: the data set "${part.name}" is there already`);
    }
    checkWeight(part.name, part.weight, part.weight > 0, "above 0");
    const seed = this.options.seed + this.#parts.length + 1;
    this.#parts.push(this.#open({ ...part, seed }));
  }

  /**
   * Removes a data set; entries from now on are of the others.
   * @throws UsageError for an unknown name, and for the last data set
   */
  removeDataset(name: string): void {
    const part = this.#part(name);
    if (this.#parts.length === 1) {
      throw new UsageError(`composite: "${name}" is the last data set; one must stay`);
    }
    this.#parts.splice(this.#parts.indexOf(part), 1);
  }

  /** Changes some parameters of a data set. */
  updateConfig(name: string, changes: Readonly<Record<string, unknown>>): void {
    const part = this.#part(name);
    const config = { ...part.config, ...changes };
    Object.assign(part, this.#open({ ...part, config }));
  }

  /** Changes how often a data set is drawn, relative to the others. */
  updateWeight(name: string, weight: number): void {
    const part = this.#part(name);
    checkWeight(name, weight, weight >= 0, "at least 0");
    if (weight === 0 && this.#parts.every((other) => other === part || other.weight === 0)) {
      throw new UsageError(`composite: "${name}" is the only data set with a weight above 0`);
    }
    part.weight = weight;
  }

  #part(name: string): OpenPart {
    const found = this.#parts.find((part) => part.name === name);
    if (found !== undefined) return found;
    const names = this.#parts.map((part) => part.name);
    throw new UsageError(
      `composite: there is no data set "${name}"${didYouMean(name, names)} (it has ` +
        `${names.join(", ")})`,
    );
  }

  #open(part: CompositePart & { seed: number }): OpenPart {
    const { size, split, create, versions } = this.options;
    const entries = create(part.name, { seed: part.seed, size, ...part.config, split });
    const version = this.#nextVersion++;
    if (versions) {
      this.#versions.set(version, entries);
      for (const old of this.#versions.keys()) {
        if (this.#versions.size <= Math.max(KEPT_VERSIONS, this.#parts.length + 1)) break;
        if (!this.#parts.some((other) => other.version === old)) this.#versions.delete(old);
      }
    }
    return { ...part, entries, version };
  }
}

function checkWeight(name: string, weight: number, isRight: boolean, expected: string): void {
  if (isRight && Number.isFinite(weight)) return;
  throw new UsageError(`composite: weight of "${name}": must be ${expected}, found ${weight}`);
}
