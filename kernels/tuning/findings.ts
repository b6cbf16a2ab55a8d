/**
 * What a measurement finds, in memory and in the file of the card, to which it is written as it is
 * found: a measurement that is killed loses one class at most. Before a candidate runs, it is
 * noted. One with which the measurement was ended twice is not tried any more: a driver may take
 * the whole machine with it.
 */
import { messageOf } from "../../core/errors.ts";
import {
  keepChoices,
  type KeptChoices,
  type Measurable,
  nothingKept,
  readChoices,
  type Trial,
} from "./kept_choices.ts";
import type { TunedClass } from "./tune_call.ts";

/** How often the measurement may be ended with a candidate. */
const MAX_ENDED = 2;

export class Findings {
  /** Of the classes that are asked for. */
  choices: KeptChoices["choices"] = {};
  bad: KeptChoices["bad"] = {};
  #running: Trial | null = null;
  #ended: KeptChoices["ended"] = {};
  /** Classes that an unfinished measurement of all of them has done; null: this is no such one. */
  #unfinished: string[] | null = null;
  #isChanged = false;
  #writes = true;
  /** Number of classes that were measured now. */
  measured = 0;

  /**
   * @param folder the card's folder in the cache; null: nothing is kept
   * @param classes those that are asked for
   * @param notes gets what the user should know
   */
  constructor(
    private readonly folder: string | null,
    private readonly about: Measurable,
    private readonly classes: readonly string[],
    private readonly notes: string[],
  ) {}

  missing(): string[] {
    return this.classes.filter((name) => this.choices[name] === undefined);
  }

  /** Takes what the file has of the classes; `again`: only of an unfinished measurement. */
  async read(again: boolean): Promise<void> {
    const { note, ...file } = this.folder === null
      ? { ...nothingKept(), note: null }
      : await readChoices(this.folder, this.about);
    if (note !== null && !this.notes.includes(note)) this.notes.push(note);
    const { unfinished } = file;
    const known = again ? this.classes.filter((name) => unfinished?.includes(name)) : this.classes;
    this.choices = of(file.choices, known);
    this.bad = of(file.bad, this.classes);
    this.#running = file.running;
    this.#ended = file.ended;
    this.#unfinished = again ? [...known] : null;
  }

  /**
   * Counts the candidate with which the last measurement was ended. Only for who measures: before,
   * another process may be in the middle of one.
   */
  judgeLast(): void {
    const last = this.#running;
    if (last === null) return;
    const times = (this.#ended[last.class]?.[last.candidate] ?? 0) + 1;
    this.#ended[last.class] = { ...this.#ended[last.class], [last.candidate]: times };
    this.#ends();
    if (times >= MAX_ENDED) {
      this.isBad(last, `the measurement was ended ${times} times while it was tried`);
    }
  }

  /** The candidate before it has come to its end. */
  begins({ class: name, candidate }: Trial): void {
    this.#running = { class: name, candidate };
    this.#isChanged = true;
  }

  isBad({ class: name, candidate }: Trial, reason: string): void {
    this.notes.push(`${name}: the kernel "${candidate}" is not used on this card: ${reason}`);
    this.bad[name] = { ...this.bad[name], [candidate]: reason };
    this.#ends();
  }

  tuned({ class: name, choice, rule, candidates }: TunedClass): void {
    const msOf = (name: string) => candidates.find((other) => other.name === name)?.ms ?? null;
    this.choices[name] = { kernel: choice, ms: msOf(choice), rule, rule_ms: msOf(rule) };
    this.#unfinished?.push(name);
    delete this.#ended[name];
    this.#ends();
    this.measured++;
  }

  /** The measurement came to its end. */
  async finish(): Promise<void> {
    if (this.#unfinished !== null) this.#unfinished = [];
    this.#ends();
    await this.write();
  }

  /** Writes what is new to the file. When that fails, the user is told once. */
  async write(): Promise<void> {
    const { folder, choices, bad } = this;
    if (folder === null || !this.#writes || !this.#isChanged) return;
    this.#isChanged = false;
    const unfinished = this.#unfinished;
    try {
      await keepChoices(folder, this.about, {
        choices,
        bad,
        running: this.#running,
        ended: this.#ended,
        ...(unfinished === null ? {} : { unfinished: unfinished.length > 0 ? unfinished : null }),
      });
    } catch (error) {
      this.#writes = false;
      this.notes.push(`the measured kernels are used, but not kept: ${messageOf(error)}`);
    }
  }

  #ends(): void {
    this.#running = null;
    this.#isChanged = true;
  }
}

/** The part of a table with these names. */
const of = <T>(table: Record<string, T>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(table).filter(([name]) => names.includes(name)));
