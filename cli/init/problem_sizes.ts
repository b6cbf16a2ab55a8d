/** How long the problems of a project are, and with which characters they are written. */
import { UsageError } from "../../core/errors.ts";
import type { ParamValue } from "../../core/named_params.ts";
import { mean } from "../../core/statistics.ts";
import { isHeldOut } from "../../data/file_source.ts";
import { filesWithoutTest, readEntries } from "../../data/open_problems.ts";
import { CORRECT, scoreCompletion } from "../../data/score_completion.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { curriculumConfig } from "../../tasks/curriculum/levels_to_params.ts";
import { getTask } from "../../tasks/registry.ts";
import type { Entry } from "../../tasks/types.ts";

/** A length in characters: the model of a new project has one token for each. */
interface Length {
  mean: number;
  longest: number;
}

/** The problems that were looked at. */
export interface ProblemSizes {
  /** Number of different problems to train on; infinite where they are generated. */
  count: number;
  prompt: Length;
  /** Of worked answers; null where some problems have none, so that there is nothing to copy. */
  answer: Length | null;
  /** Words of the longest worked answer. */
  words: number;
  /** Characters that are not printable ASCII. */
  others: string;
  /** Whether some are held out, and others are left to train on. */
  hasHeldOut: boolean;
  /** Whether prompts are conversations, which a chat template writes. */
  isChat: boolean;
  /** Whether the reward `correctness` finds the worked answers, which it does in their tags. */
  isFound: boolean;
}

/** Number of problems that are looked at. */
const LOOKED_AT = 300;
/** Characters of a problem with its answer, beyond which a task begins at its lowest level. */
const LONG = 1024;
/** Characters of a problem with its answer that the tiny model of a project does not read. */
const TOO_LONG = 8192;

/** Parameters of tasks whose own are too large for a tiny model, or name no problems yet. */
const SMALL: Readonly<Record<string, Record<string, ParamValue>>> = {
  composite: {
    datasets: [
      { name: "chain_sum", weight: 1, config: { max_terms: 3 } },
      { name: "spell_backward", weight: 1, config: { max_word_len: 7 } },
    ],
  },
  needle_haystack: { max_num_statements: 20 },
  rectangle_count: { width: 20, height: 20, max_rectangles: 4 },
  spell_backward: { min_word_len: 3, max_word_len: 7 },
};

/**
 * The parameters with which a tiny model reads the problems of a task, and the sizes of these.
 * @throws UsageError for a task whose problems are all too long
 */
export function measureTask(
  name: string,
): { params: Record<string, ParamValue>; sizes: ProblemSizes } {
  const of = (params: Record<string, ParamValue>) => {
    const problems = createDataset(name, { ...params, size: LOOKED_AT, seed: 42 });
    const entries = Array.from({ length: LOOKED_AT }, (_, i) => problems.entry(i));
    return { params, sizes: measure(entries, Infinity, true) };
  };
  const task = getTask(name), own = of(SMALL[name] ?? {});
  if (longest(own.sizes) <= LONG || task.curriculum === undefined) return checked(own);
  const changed = Object.entries(curriculumConfig(task, {})).filter(([key, value]) =>
    JSON.stringify(value) !== JSON.stringify(task.params[key]!.default)
  );
  const easy = of({ ...Object.fromEntries(changed), ...own.params });
  return checked(longest(easy.sizes) < longest(own.sizes) ? easy : own);

  function checked(found: typeof own): typeof own {
    refuseLong(`task ${name}`, found.sizes, `data.task_name=${name}`);
    return found;
  }
}

/** @throws UsageError for files that cannot be read, and for problems that are too long */
export async function measureData(path: string): Promise<ProblemSizes> {
  const entries = await readEntries(path);
  const different = new Set(entries.map(({ question }) => question));
  const heldOut = [...different].filter(isHeldOut).length;
  const hasTest = await filesWithoutTest({ dataset_name: path, task_name: null }) === null;
  const isSplit = !hasTest && heldOut > 0 && heldOut < different.size;
  const count = different.size - (isSplit ? heldOut : 0);
  const sizes = measure(entries.slice(0, LOOKED_AT), count, hasTest || isSplit);
  refuseLong(path, sizes, `data.dataset_name=${path}`);
  return sizes;
}

function refuseLong(name: string, sizes: ProblemSizes, key: string): void {
  if (longest(sizes) <= TOO_LONG) return;
  throw new UsageError(
    `${name}: a problem and its answer have up to ${longest(sizes)} characters, the tiny model ` +
      `of a new project reads ${TOO_LONG}`,
    {
      advice: "Train a pretrained model on it: " +
        `rgx train rgx:base.yaml model.model_name_or_path=MODEL ${key}`,
    },
  );
}

const longest = ({ prompt, answer }: ProblemSizes) => prompt.longest + (answer?.longest ?? 0);

function measure(entries: readonly Entry[], count: number, hasHeldOut: boolean): ProblemSizes {
  const isChat = entries.some(({ messages }) => messages !== undefined);
  const prompts = entries.map(({ question, messages }) =>
    isChat ? chatText(messages ?? [{ role: "user", content: question }]) : question
  );
  const hasAnswers = entries.every(({ answer, metadata }) =>
    answer !== null || typeof metadata["completion"] === "string"
  );
  const answers = hasAnswers ? entries.map((entry) => workedAnswer(entry)) : [];
  const others = new Set<string>();
  for (const text of [...prompts, ...answers]) {
    for (const character of text) if (!/[ -~\n]/.test(character)) others.add(character);
  }
  return {
    count,
    prompt: lengthOf(prompts),
    answer: hasAnswers ? lengthOf(answers) : null,
    words: Math.max(0, ...answers.map((text) => text.trim().split(/\s+/).length)),
    others: [...others].sort().join(""),
    hasHeldOut,
    isChat,
    isFound: answers.every((text, i) => scoreCompletion(text, entries[i]!).score >= CORRECT),
  };
}

/** What the chat template of a project (project/chat_template.jinja) writes. */
function chatText(messages: readonly { role: string; content: string }[]): string {
  return messages.map(({ role, content }) => `${role}: ${content}\n`).join("") + "assistant: ";
}

function lengthOf(texts: readonly string[]): Length {
  // The tags of answers are one token each.
  const lengths = texts.map((text) => [...text.replaceAll(/<\/?answer>/g, "#")].length);
  return { mean: mean(lengths), longest: Math.max(...lengths) };
}
