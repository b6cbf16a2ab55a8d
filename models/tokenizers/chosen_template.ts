/** A chat template that a user chooses in place of the model's. */
import { UsageError } from "../../core/errors.ts";
import { readText, whyUnreadable } from "../../core/text_file.ts";
import { tokenizerFromFiles } from "./tokenizer.ts";
import type { Tokenizer } from "./types.ts";

function isTemplateText(value: string): boolean {
  return value.includes("{{") || value.includes("{%");
}

/**
 * The tokenizer with another chat template, which is stored beside the weights with it.
 * @param chosen a template, or the path of a file with one; null = the tokenizer's stays
 * @throws UsageError when the file cannot be read, RgxError when the template cannot be parsed
 */
export async function withChatTemplate(
  tokenizer: Tokenizer,
  chosen: string | null,
): Promise<Tokenizer> {
  if (chosen === null) return tokenizer;
  const isText = isTemplateText(chosen);
  const template = isText ? chosen : await readTemplate(chosen);
  const files = new Map([...tokenizer.files(), ["chat_template.jinja", template]]);
  return tokenizerFromFiles(files, "model", isText ? "model.chat_template" : chosen);
}

async function readTemplate(path: string): Promise<string> {
  let text: string;
  try {
    text = await readText(path);
  } catch (cause) {
    throw new UsageError(`model.chat_template: cannot read ${path}: ${whyUnreadable(cause)}`, {
      advice: "Name a file with a Jinja template (chat_template.jinja), or write the template.",
      cause,
    });
  }
  if (isTemplateText(text)) return text;
  throw new UsageError(`model.chat_template: ${path} is no chat template: it has no {{ or {%`);
}
