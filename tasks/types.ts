/**
 * The protocol of a reasoning task. A task is one file that exports one {@link Task}, and the
 * registry lists it; nothing else has to change. Names, parameters, metadata keys and scores are
 * those of reasoning-gym, so entries can be exchanged in both directions. The wording of questions
 * is rgx's.
 */
import type { ChatMessage } from "../core/chat_message.ts";
import type { ParamSpec, ParamValue } from "../core/named_params.ts";
import type { RandomStream, Split } from "../core/philox.ts";

/** A chosen and a rejected answer: texts, or the messages after the prompt. */
export interface Preference {
  /** The better answer. */
  chosen: string | readonly ChatMessage[];
  /** The worse answer. */
  rejected: string | readonly ChatMessage[];
  /** File and line, for messages. */
  place: string;
}

/** One problem. It can be written as JSON. */
export interface Entry {
  /** The text of the problem, without a system message. */
  question: string;
  /** null when many answers are right; the metadata then contains an example. */
  answer: string | null;
  /** Always contains `source_dataset`, `source_index` and `difficulty`. */
  metadata: Record<string, unknown>;
  /**
   * The prompt as a conversation, if the data set has conversations. `question` is then the text of
   * its messages, without the system message.
   */
  messages?: readonly ChatMessage[];
  /** A worked answer of more than a text: calls of tools, their results, and further answers. */
  answerMessages?: readonly ChatMessage[];
  /** Whether a data set has the messages of prompt and answer in one column. */
  isOneColumn?: boolean;
  /** The prompt that a teacher sees in place of this one, where a data set has one. */
  teacherPrompt?: Pick<Entry, "question" | "messages">;
  /** Two answers of which one is better, where a data set has them. */
  preference?: Preference;
  /** Values for the chat template with this prompt; they go before those of the run. */
  templateVariables?: Readonly<Record<string, unknown>>;
  /** Columns of a data set's row that metadata does not have as they are, such as its solution. */
  columns?: Readonly<Record<string, unknown>>;
}

/**
 * The entry that a scorer gets. Entries of other programs may lack the question, the answer or
 * metadata keys.
 */
export interface ScorableEntry {
  /** The text of the problem. */
  question?: string;
  /** The expected answer; null or absent: the metadata determine which answers are right. */
  answer?: string | null;
  /** Facts about the problem, from the generator. */
  metadata?: Record<string, unknown>;
  /** Further columns of its row, as in an entry. */
  columns?: Readonly<Record<string, unknown>>;
}

/**
 * A curriculum attribute: the difficulty levels of one field (scalar) or of a range (two fields).
 */
export interface CurriculumAttribute {
  /** Its name in a curriculum. */
  name: string;
  /** Values from easy to hard. */
  levels: readonly ParamValue[];
  /** The parameter that a level sets. Of a range: `lowerField` and `upperField` instead. */
  field?: string;
  /** The parameter that the lower end of a range sets. */
  lowerField?: string;
  /** The parameter that the upper end of a range sets. */
  upperField?: string;
  /** Whether both ends of a range must differ; default false. */
  ensureInterval?: boolean;
  /** One line for lists of levels. */
  description: string;
}

/**
 * The result of a generator. The data set adds `source_dataset` and `source_index` to the metadata.
 */
export interface Generated {
  /** The text of the problem. */
  question: string;
  /** null when many answers are right; the metadata then contain an example. */
  answer: string | null;
  /** Values that a scorer needs, and facts about how the problem was made. */
  metadata: Record<string, unknown>;
  /**
   * The ranges and values that set the difficulty. Only gsm_symbolic has a plain number. Default:
   * the values that the attributes of the curriculum set.
   */
  difficulty?: Record<string, unknown> | number;
}

/** Options with which a data set is opened, beside its parameters. */
export interface OpenOptions {
  /** Of all its entries. */
  seed: number;
  /** Number of entries of an iteration. */
  size: number;
  /** The split that entries are drawn for. */
  split: Split;
  /** Makes the data set of another task. */
  create(name: string, options: Record<string, unknown>): { entry(index: number): Entry };
}

/** A complete task; `C` is the type of its parameters. */
export interface Task<C extends object = Record<string, ParamValue>> {
  /** Its name in the registry, in lower case with _. */
  name: string;
  /** The group of tasks that it belongs to. */
  category: string;
  /** One line for `rgx tasks list`. */
  description: string;
  /** The scoring rule in words, for `rgx tasks show`. */
  scoring: string;
  /** Its parameters by name. */
  params: { readonly [K in keyof C]: ParamSpec };
  /** Number of entries of a data set whose size is not given. Default: 500. */
  defaultSize?: number;
  /**
   * Returns violated constraints beyond those that the registry checks (type, `min`, `max`,
   * `values`, and `min_x ≤ max_x` of every such pair). Each begins with `field: ` and contains the
   * values.
   */
  validate?(config: C): string[];
  /**
   * Repairs a configuration made from curriculum levels when it violates a rule between two fields.
   * It sets the nearest valid values in place and returns one note for each, e.g. "max_empty: 16 is
   * above …, 9 is used".
   */
  clamp?(config: C): string[];
  /** Makes entry `index`. It is a pure function of its arguments. */
  generate(random: RandomStream, config: C, index: number): Generated;
  /** Replaces `generate` for a task made of other tasks. Returns complete entries. */
  open?(config: C, options: OpenOptions): (index: number) => Entry;
  /** Parameters for an example entry, for tasks whose defaults alone cannot make one. */
  example?: Partial<C>;
  /** Returns the score in [0, 1] of a non-blank answer. It never throws and uses only the entry. */
  score(answer: string, entry: ScorableEntry): number;
  /** True when a blank answer may be right, i.e. when the oracle can be empty. */
  acceptsBlank?: boolean;
  /** What a curriculum makes harder. */
  curriculum?: readonly CurriculumAttribute[];
  /** SHA-256 of the file of a user's task. */
  sha256?: string;
}
