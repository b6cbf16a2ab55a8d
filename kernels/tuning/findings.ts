/**
 * What a measurement finds, in memory and in the file of the card, to which it is written as it is
 * found: a measurement that is killed loses one candidate at most. Before a candidate runs, it is
 * noted as begun. One with which the measurement was ended again and again is not tried any more:
 * a driver may take the whole machine with it.
 */
import { messageOf } from "../../core/errors.ts";
import {
  keepChoices,
  type KeptChoice,
  type KeptChoices,
  type Measurable,
  nothingKept,
  readChoices,
} from "./kept_choices.ts";
import type { TunedClass } from "./tune_call.ts";
import { SUBGROUPS } from "./worker.ts";

/** How often a candidate may be begun without an end. */
const MAX_BEGUN = 2;

export class Findings {
  #kept: KeptChoices = nothingKept();
  /** What the file does not have yet. */
  #added: Partial<KeptChoices> = {};
  #writes = true;
  /** The candidate that runs, and how often earlier measurements were ended with it. */
  #running: { name: string; candidate: string; before: number } | null = null;
  /** Number of classes that were measured now. */
  measured = 0;

  /**
   * @param folder of the card in the cache; null: nothing is kept
   * @param classes those that are asked for
   * @param notes gets what the user should know
   */
  constructor(
    private readonly folder: string | null,
    private readonly about: Measurable,
    private readonly classes: readonly string[],
    private readonly notes: string[],
  ) {}

  get choices(): KeptChoices["choices"] {
    return this.#kept.choices;
  }

  get bad(): KeptChoices["bad"] {
    return this.#kept.bad;
  }

  get right(): KeptChoices["right"] {
    return this.#kept.right;
  }

  missing(): string[] {
    return this.classes.filter((name) => this.choices[name] === undefined);
  }

  missingOf<T extends { class: string }>(calls: readonly T[]): T[] {
    return calls.filter((call) => this.choices[call.class] === undefined);
  }

  /** Takes what the file has of the classes; `again`: only of an unfinished measurement. */
  async read(again: boolean): Promise<void> {
    if (this.folder === null) return;
    const { note, ...file } = await readChoices(this.folder, this.about);
    if (note !== null && !this.notes.includes(note)) this.notes.push(note);
    const wanted = new Set([...this.classes, SUBGROUPS.class]);
    const of = <T>(table: Record<string, T>, names = wanted) =>
      Object.fromEntries(Object.entries(table).filter(([name]) => names.has(name)));
    const done = again
      ? new Set((file.unfinished ?? []).filter((name) => wanted.has(name)))
      : wanted;
    this.#kept = {
      choices: of(file.choices, done),
      bad: of(file.bad),
      right: of(file.right),
      begun: of(file.begun),
      unfinished: again ? [...done] : null,
      race: file.race,
    };
  }

  /**
   * Takes candidates for bad with which the measurement was ended again and again. Only for who
   * measures: before, another process may be in the middle of one.
   */
  judgeBegun(): void {
    for (const [name, counts] of Object.entries(this.#kept.begun)) {
      for (const [candidate, count] of Object.entries(counts)) {
        if (count < MAX_BEGUN || this.bad[name]?.[candidate] !== undefined) continue;
        const reason = `the measurement was ended ${count} times while it was tried`;
        this.isBad(name, candidate, reason);
        const note = `${name}: the kernel "${candidate}" is not used on this card: ${reason}`;
        if (!this.notes.includes(note)) this.notes.push(note);
      }
    }
  }

  /** The candidate before it, which may be the same one, has come to its end. */
  begins(name: string, candidate: string): void {
    const last = this.#running;
    if (last !== null && this.#kept.begun[last.name]?.[last.candidate] !== undefined) {
      this.#count(last.name, last.candidate, last.before);
    }
    const before = this.#kept.begun[name]?.[candidate] ?? 0;
    this.#running = { name, candidate, before };
    this.#count(name, candidate, before + 1);
  }

  isRight(name: string, candidate: string): void {
    this.#ended(name, candidate);
    this.#setRight(name, [...new Set([...this.right[name] ?? [], candidate])]);
  }

  isBad(name: string, candidate: string, reason: string): void {
    this.#ended(name, candidate);
    this.#kept.bad[name] = { ...this.bad[name], [candidate]: reason };
    this.#added.bad = { ...this.#added.bad, [name]: this.bad[name]! };
  }

  /** The class cannot be measured, which says nothing of the candidate that was tried. */
  failed(name: string): void {
    this.#setBegun(name, {});
  }

  tuned(found: TunedClass): void {
    const name = found.class;
    this.#kept.choices[name] = keptOf(found);
    this.#added.choices = { ...this.#added.choices, [name]: this.choices[name]! };
    this.#setBegun(name, {});
    this.#setRight(name, []);
    this.measured++;
    const { unfinished } = this.#kept;
    if (unfinished !== null) this.#setUnfinished([...unfinished, name]);
  }

  /** The measurement came to its end. */
  async finish(): Promise<void> {
    if (this.#kept.unfinished !== null) this.#setUnfinished(null);
    await this.write();
  }

  /** Writes what is new to the file. When that fails, the user is told once. */
  async write(): Promise<void> {
    const { folder } = this, added = this.#added;
    if (folder === null || !this.#writes || Object.keys(added).length === 0) return;
    this.#added = {};
    try {
      await keepChoices(folder, this.about, added);
    } catch (error) {
      this.#writes = false;
      this.notes.push(`the measured kernels are used, but not kept: ${messageOf(error)}`);
    }
  }

  #ended(name: string, candidate: string): void {
    this.#count(name, candidate, 0);
  }

  #count(name: string, candidate: string, count: number): void {
    const { [candidate]: _, ...others } = this.#kept.begun[name] ?? {};
    this.#setBegun(name, count === 0 ? others : { ...others, [candidate]: count });
  }

  #setBegun(name: string, counts: Record<string, number>): void {
    this.#kept.begun[name] = counts;
    this.#added.begun = { ...this.#added.begun, [name]: counts };
  }

  #setRight(name: string, candidates: string[]): void {
    this.#kept.right[name] = candidates;
    this.#added.right = { ...this.#added.right, [name]: candidates };
  }

  #setUnfinished(classes: string[] | null): void {
    this.#kept.unfinished = classes;
    this.#added.unfinished = classes;
  }
}

function keptOf({ choice, rule, candidates }: TunedClass): KeptChoice {
  const msOf = (name: string) => candidates.find((other) => other.name === name)?.ms ?? null;
  return { kernel: choice, ms: msOf(choice), rule, rule_ms: msOf(rule) };
}
