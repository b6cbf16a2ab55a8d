/** The error for a configuration with mistakes, and what it names that was not looked for yet. */
import { UsageError } from "../core/errors.ts";

/** Names of the parts of a run that may be missing on this machine; null = none, or a mistake. */
export interface NamedParts {
  model: {
    model_name_or_path: string | null;
    adapter_name_or_path: string | null;
    tokenizer_name_or_path: string | null;
  };
  data: {
    dataset_name: string | null;
    eval_dataset_name?: string | null;
    dataset_train_split: string | null;
    task_name: string | null;
  };
}

/** One line for each mistake. */
export class ConfigMistakes extends UsageError {
  /** @param named what the configuration names; a command may look whether it is here */
  constructor(lines: readonly string[], readonly named: NamedParts) {
    super(lines.join("\n"));
  }
}
