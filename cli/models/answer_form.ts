/** The form that texts of `rgx generate` must have: --json-schema and --regex. */
import { UsageError } from "../../core/errors.ts";
import { whyNotJson } from "../../core/text_file.ts";
import { type Form, TokenConstraint } from "../../models/grammar/token_constraint.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import { readInput } from "./model_input.ts";
import type { Flags } from "../flags.ts";
import type { GENERATE } from "../flag_tables.ts";

export type FormFlags = Pick<GenerateFlags, "jsonSchema" | "regex">;

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

export type GenerateFlags = Flags<typeof GENERATE> & { model: string };
