/**
 * Chat templates: the Jinja text that a model's makers ship, rendered as transformers does it
 * (`apply_chat_template(…, add_generation_prompt=True)`). Left out: tools and documents, which a template sees as
 * none. What the library leaves out of Python's `strip` is put in its place.
 */
import { Template } from "@huggingface/jinja";
import { messageOf, RgxError } from "../../core/errors.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

/** Renders messages to text that ends where the assistant's answer begins. */
export type ChatRenderer = (messages: readonly ChatMessage[]) => string;

/**
 * The template of a tokenizer, from `chat_template.jinja` where there is one (it wins), else from
 * `tokenizer_config.json`: a text, or a list of {name, template} of which "default" is taken.
 * @param where the file it comes from, for messages
 * @throws RgxError when the entry has another form
 */
export function selectChatTemplate(entry: unknown, where: string): string | null {
  if (entry === undefined || entry === null) return null;
  if (typeof entry === "string") return entry;
  if (Array.isArray(entry)) {
    for (const item of entry) {
      if (item?.name === "default" && typeof item.template === "string") return item.template;
    }
    throw new RgxError(
      `${where}: chat_template lists ${
        entry.map((item) => JSON.stringify(item?.name)).join(", ") || "nothing"
      }, expected one named "default"`,
    );
  }
  throw new RgxError(
    `${where}: chat_template is ${typeof entry}, expected a text or a list of {name, template}`,
  );
}

/**
 * @param specialTokens what the template sees as bos_token, eos_token, …
 * @param where the file the template comes from, for messages
 * @throws RgxError when the template cannot be parsed; the renderer throws one when it refuses the messages
 */
export function compileChatTemplate(
  template: string,
  specialTokens: Readonly<Record<string, string>>,
  where: string,
): ChatRenderer {
  let compiled: Template;
  try {
    // Jinja takes every kind of line end for a line feed; the library knows that one only.
    compiled = new Template(template.replaceAll(/\r\n?/g, "\n"));
  } catch (error) {
    throw new RgxError(`${where}: the chat template cannot be parsed: ${messageOf(error)}`, {
      advice: "Correct the template, or delete it to prompt the model with plain text.",
      cause: error,
    });
  }
  callOurStrips(compiled.parsed);
  return (messages) => {
    try {
      return compiled.render({
        ...specialTokens,
        ...STRIPS,
        tools: null,
        documents: null,
        messages: messages.map(({ role, content }) => ({ role, content })),
        add_generation_prompt: true,
      });
    } catch (error) {
      throw new RgxError(
        `${where}: the chat template does not accept these messages (${
          messages.map((m) => m.role).join(", ") || "none"
        }): ${messageOf(error)}`,
        {
          advice: messages.some((m) => m.role === "system")
            ? "Some models have no system role: try without a system prompt."
            : "",
          cause: error,
        },
      );
    }
  };
}

/** Python's methods that take characters off a text's ends; none (the library's undefined) = white space. */
const STRIPS: Readonly<Record<string, (text: string, characters?: string) => string>> = {
  rgx_strip: (text, characters) => strip(text, characters, true, true),
  rgx_lstrip: (text, characters) => strip(text, characters, true, false),
  rgx_rstrip: (text, characters) => strip(text, characters, false, true),
};

function strip(
  text: string,
  characters: string | undefined,
  left: boolean,
  right: boolean,
): string {
  const isOff = characters === undefined
    ? (one: string) => one.trim() === ""
    : (one: string) => characters.includes(one);
  const all = Array.from(text);
  let from = 0, to = all.length;
  while (left && from < to && isOff(all[from]!)) from++;
  while (right && from < to && isOff(all[to - 1]!)) to--;
  return all.slice(from, to).join("");
}

/** A node of a parsed template, as far as it matters here. */
interface TemplateNode {
  type?: string;
  value?: unknown;
  callee?: TemplateNode;
  args?: unknown[];
  object?: unknown;
  property?: TemplateNode;
  computed?: boolean;
}

/** `text.strip(characters)`, of which the library ignores the characters, becomes `rgx_strip(text, characters)`. */
function callOurStrips(node: unknown): void {
  if (node === null || typeof node !== "object") return;
  const call: TemplateNode = node, method = call.callee;
  const name = method?.type === "MemberExpression" && method.computed !== true
    ? method.property!.value
    : null;
  if (call.type === "CallExpression" && call.args!.length === 1 && `rgx_${name}` in STRIPS) {
    call.args!.unshift(method!.object);
    call.callee = method!.property!;
    call.callee.value = `rgx_${name}`;
  }
  const parts = node instanceof Map ? [...node].flat() : Object.values(node);
  parts.forEach(callOurStrips);
}
