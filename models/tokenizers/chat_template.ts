/**
 * Chat templates: the Jinja text that comes with a model, rendered as transformers does it
 * (`apply_chat_template(…, add_generation_prompt=True)`). The library's `strip` ignores its
 * argument, so the templates call functions of ours instead.
 * Left out: tools and documents, which a template sees as none.
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
 * The chat template that `tokenizer_config.json` holds: a text, or a list of {name, template}, of
 * which "default" is used.
 * @param where the file, for messages
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
 * @param specialTokens the values of bos_token, eos_token, … in the template
 * @param where the file of the template, for messages
 * @throws RgxError when the template cannot be parsed. The renderer throws one when the template
 *   refuses the messages.
 */
export function compileChatTemplate(
  template: string,
  specialTokens: Readonly<Record<string, string>>,
  where: string,
): ChatRenderer {
  let compiled: Template;
  try {
    // Jinja reads every kind of line end as a line feed, which is the only one the library knows.
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

/** Python's methods that remove characters, or else white space, from the ends of a text. */
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

/** The fields of a parsed template's node that matter here. */
interface TemplateNode {
  type?: string;
  value?: unknown;
  callee?: TemplateNode;
  args?: unknown[];
  object?: unknown;
  property?: TemplateNode;
  computed?: boolean;
}

/** Turns `text.strip(characters)` into `rgx_strip(text, characters)` in a node and below it. */
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
