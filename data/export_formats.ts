/**
 * Entries as rows for other trainers: the columns of each format, and the values of a row.
 * - `raw`: the entry itself.
 * - `chat`: a conversation for supervised training.
 * - `trl`: the columns of TRL's GRPOTrainer: a conversational `prompt`; all other columns go to the
 *   reward functions (TRL 1.16).
 * - `verl`: the columns of verl's RLHFDataset: `data_source`, `prompt`, `ability`, `reward_model`,
 *   `extra_info` (verl main of 2026-08).
 * The fields of the metadata differ from task to task, so a table cannot have a column for each.
 * They are JSON text everywhere but in raw JSON Lines; an entry can be scored from that text.
 */
import type { ChatMessage } from "../core/chat_message.ts";
import type { Split } from "../core/philox.ts";
import { entryJson } from "../tasks/entry_json.ts";
import { getTask } from "../tasks/registry.ts";
import type { Entry } from "../tasks/types.ts";
import { formatQuestion, systemPromptText } from "./prompt.ts";
import type { PromptRole } from "./prompt_roles.ts";

export const EXPORT_FORMATS = ["raw", "chat", "verl", "trl"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Type of a column. `text?` may be null; `json` is any value (in a table its JSON text). */
export type ColumnType = "text" | "text?" | "int" | "json" | "messages" | {
  readonly [field: string]: ColumnType;
};

export type Row = Readonly<Record<string, unknown>>;

export interface RowOptions {
  /** Name of a system prompt, or its text; null = none. */
  systemPrompt: string | null;
  /** Role of the message that holds it; default system. */
  systemRole?: PromptRole;
  /** Put the instruction about the answer's form before the question. */
  addInstructions: boolean;
}

export interface RowFormat {
  readonly columns: Readonly<Record<string, ColumnType>>;
  row(entry: Entry, split: Split, options: RowOptions): Row;
}

export const ROW_FORMATS: Readonly<Record<ExportFormat, RowFormat>> = {
  raw: {
    columns: { question: "text", answer: "text?", metadata: "json" },
    row: (entry) => ({ ...entry }),
  },
  chat: {
    columns: { messages: "messages", answer: "text?", task: "text", metadata: "text" },
    row(entry, _split, options) {
      const messages = promptMessages(entry, options);
      if (entry.answer !== null) {
        messages.push({ role: "assistant", content: `<answer>${entry.answer}</answer>` });
      }
      return { messages, ...about(entry) };
    },
  },
  trl: {
    columns: { prompt: "messages", answer: "text?", task: "text", metadata: "text" },
    row: (entry, _split, options) => ({ prompt: promptMessages(entry, options), ...about(entry) }),
  },
  verl: {
    columns: {
      data_source: "text",
      prompt: "messages",
      ability: "text",
      reward_model: { style: "text", ground_truth: "text" },
      extra_info: { split: "text", index: "int", question: "text", answer: "text?", entry: "text" },
    },
    row(entry, split, options) {
      const task = taskOf(entry), { question, answer, metadata } = entry;
      return {
        data_source: task,
        prompt: promptMessages(entry, options),
        ability: getTask(task).category,
        reward_model: { style: "rule", ground_truth: answer ?? "" },
        extra_info: {
          split,
          index: metadata["source_index"],
          question,
          answer,
          entry: entryJson(entry),
        },
      };
    },
  },
};

/** A format with a column for the split, for several splits in one file. */
export function withSplit(format: RowFormat): RowFormat {
  return {
    columns: { split: "text", ...format.columns },
    row: (entry, split, options) => ({ split, ...format.row(entry, split, options) }),
  };
}

function promptMessages({ question }: Entry, options: RowOptions): ChatMessage[] {
  const { systemPrompt, systemRole: role = "system", addInstructions } = options;
  const user: ChatMessage = {
    role: "user",
    content: formatQuestion(question, { addInstructions }),
  };
  if (systemPrompt === null) return [user];
  return [{ role, content: systemPromptText(systemPrompt) }, user];
}

function about(entry: Entry): Row {
  const metadata = entryJson(entry.metadata);
  return { answer: entry.answer, task: taskOf(entry), metadata };
}

function taskOf(entry: Entry): string {
  return String(entry.metadata["source_dataset"]);
}
