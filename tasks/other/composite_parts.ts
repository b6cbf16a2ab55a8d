/**
 * Several tasks in one data set, drawn by weight (reasoning-gym's composite). Entry i is entry i of the data set
 * that the draw for i chooses, unchanged, with that task's name in `source_dataset`. Data sets can be changed while
 * entries are taken: their parameters, their weights, which there are. With `versions`, each (re)configuration gets
 * the next number, entries carry `version_id` and `entry_id` = "version.index", and an entry can be had once more by
 * that id. Left out: making and scoring entries, which need the registry (composite_dataset.ts).
 * A draw depends on (seed, split, i) and the weights only, so adding a data set moves only entries that fall to it.
 */
import { UsageError } from "../../core/errors.ts";
import { RandomStream, type Split } from "../../core/philox.ts";
import { didYouMean } from "../../core/suggest.ts";
import type { Entry } from "../types.ts";

/** One data set of a composite. */
export interface CompositePart {
  /** A task's name; no two parts have the same. */
  name: string;
  /** Share of the entries, relative to the others; above 0 (0 only by a later change). */
  weight: number;
  /** The task's parameters; `seed` and `size` may be given too. */
  config: Readonly<Record<string, unknown>>;
}

export interface CompositeOptions {
  seed: number;
  size: number;
  split: Split;
  /** Makes the data set of a part: `createDataset`, handed in because the registry knows composites. */
  create: (name: string, options: Record<string, unknown>) => { entry(index: number): Entry };
  /** Number every configuration and write its number into the entries; default false. */
  versions?: boolean;
}

interface OpenPart extends CompositePart {
  entries: { entry(index: number): Entry };
  seed: number;
  version: number;
}

/** Versions of a composite that answers can still be scored for. */
const KEPT_VERSIONS = 10;

export class CompositeParts {
  readonly #parts: OpenPart[] = [];
  readonly #versions = new Map<number, OpenPart["entries"]>();
  #nextVersion = 1;

  /** @throws UsageError for an unknown task, field or value, no data set, or a name given twice. */
  constructor(parts: readonly CompositePart[], private readonly options: CompositeOptions) {
    if (parts.length === 0) throw new UsageError("composite: at least one data set is needed");
    for (const part of parts) this.addDataset(part);
  }

  /** Names and weights, in order. */
  get parts(): readonly Readonly<CompositePart>[] {
    return this.#parts.map(({ name, weight, config }) => ({ name, weight, config }));
  }

  /** @param own index of the entry within the data set that the draw for `index` chooses; default `index` */
  entry(index: number, own = index): Entry {
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
    const entry = chosen.entries.entry(own);
    if (!versions) return entry;
    const { version } = chosen;
    const ids = { version_id: version, entry_id: `${version}.${own}` };
    return { ...entry, metadata: { ...entry.metadata, ...ids } };
  }

  /** The entry once more, by `entry_id`. @throws UsageError for an id that is not known (any more). */
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

  /** Adds a data set. @throws UsageError when there is one of this name, or it cannot be made. */
  addDataset(part: CompositePart): void {
    if (this.#parts.some(({ name }) => name === part.name)) {
      throw new UsageError(`composite: the data set "${part.name}" is there already`);
    }
    checkWeight(part.name, part.weight, part.weight > 0, "above 0");
    const seed = this.options.seed + this.#parts.length + 1;
    this.#parts.push(this.#open({ ...part, seed }));
  }

  /** @throws UsageError for an unknown name, and for the last one. */
  removeDataset(name: string): void {
    const part = this.#part(name);
    if (this.#parts.length === 1) {
      throw new UsageError(`composite: "${name}" is the last data set; one must stay`);
    }
    this.#parts.splice(this.#parts.indexOf(part), 1);
  }

  /** Other values for some of a data set's parameters. */
  updateConfig(name: string, changes: Readonly<Record<string, unknown>>): void {
    const part = this.#part(name);
    const config = { ...part.config, ...changes };
    Object.assign(part, this.#open({ ...part, config }));
  }

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
      `composite: there is no data set "${name}"${didYouMean(name, names)} (it has ${
        names.join(", ")
      })`,
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
