/** The form that `rgx generate` holds its texts to: --json-schema and --regex. */
import { UsageError } from "../../core/errors.ts";
import { whyNotJson } from "../../core/text_file.ts";
import { type Form, TokenConstraint } from "../../models/grammar/token_constraint.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import { type ModelFlags, readInput } from "./model_input.ts";

export interface FormFlags {
  /** A file. */
  jsonSchema?: string;
  regex?: string;
}

/** A form, with the flag that asks for it. */
export interface AskedForm {
  flag: string;
  form: Form;
}

/** @returns null when texts are free @throws UsageError for a schema that cannot be read */
export async function readForm({ jsonSchema, regex }: FormFlags): Promise<AskedForm | null> {
  if (jsonSchema !== undefined && regex !== undefined) {
    throw new UsageError("--json-schema and --regex exclude each other");
  }
  if (regex !== undefined) return { flag: "--regex", form: { kind: "regex", pattern: regex } };
  if (jsonSchema === undefined) return null;
  const text = await readInput(jsonSchema), flag = `--json-schema ${jsonSchema}`;
  try {
    return { flag, form: { kind: "schema", schema: JSON.parse(text) } };
  } catch (error) {
    throw new UsageError(`${flag}: not JSON: ${whyNotJson(error)}`);
  }
}

/** @param tokenizer null = the model has none @throws UsageError for a form that cannot be kept */
export function constraintOf(
  { flag, form }: AskedForm,
  tokenizer: Tokenizer | null,
  vocabSize: number,
): TokenConstraint {
  if (tokenizer === null) throw new UsageError(`${flag}: the model has no tokenizer`);
  try {
    return new TokenConstraint(form, tokenizer, vocabSize);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { message, advice } = error;
    throw new UsageError(`${flag}: ${message}`, advice === undefined ? {} : { advice });
  }
}

export interface GenerateFlags extends ModelFlags, FormFlags {
  /** A server that generates in place of this process; `model` is the name of its model. */
  baseUrl?: string;
  apiKeyEnv?: string;
  prompt?: string;
  file?: string;
  chat?: boolean;
  system?: string;
  chatTemplateKwargs?: string;
  ignoreEos?: boolean;
  maxNewTokens: number;
  temperature: number;
  topP: number;
  topK: number;
  minP: number;
  repetitionPenalty: number;
  minNewTokens: number;
  stop: string[];
  seed: number;
  n: number;
  json?: boolean;
}
