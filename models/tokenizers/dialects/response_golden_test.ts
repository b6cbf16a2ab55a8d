/** Answers through transformers' response templates, held against transformers itself. */
import assert from "node:assert/strict";
import type { Tool } from "../../../core/chat_message.ts";
import { readGoldenJson } from "../../../tests/golden.ts";
import { begunAnswer, ResponseParser } from "./response_parser.ts";
import { compileResponseTemplate } from "./response_template.ts";

interface Golden {
  tools: Tool[];
  families: Record<string, Recorded>;
}

interface Recorded {
  template: {
    defaults?: Record<string, unknown>;
    fields: Record<string, { repeats?: boolean; join?: string; optional?: boolean }>;
  };
  prefix: string;
  cases: { text: string; parsed: Record<string, unknown> }[];
}

const golden: Golden = readGoldenJson("dialects/response-template.json");

/** The message that transformers makes of the parts of an answer. */
function messageOf(text: string, { template, prefix }: Recorded): Record<string, unknown> {
  const compiled = compileResponseTemplate(template, "recorded", true);
  const parser = new ResponseParser(compiled, golden.tools), { defaults = {}, fields } = template;
  const begun = parser.push(begunAnswer(compiled, prefix));
  const message: Record<string, unknown> = { ...defaults };
  for (const event of [...begun, ...parser.push(text), ...parser.end()]) {
    if (event.kind === "fault") throw new Error(event.message);
    if (event.kind !== "part") continue;
    const { field, value } = event, { repeats, join } = fields[field]!, before = message[field];
    if (join !== undefined) {
      message[field] = before === undefined ? value : `${before}${join}${value}`;
    } else message[field] = repeats ? [...before as unknown[] ?? [], value] : value;
  }
  for (const [name, { optional }] of Object.entries(fields)) {
    if (optional === false && !(name in message)) throw new Error(`the answer has no ${name}`);
  }
  const isEmpty = (value: unknown) =>
    value === null || value === "" ||
    typeof value === "object" && Object.keys(value).length === 0;
  return Object.fromEntries(
    Object.entries(message).filter(([name, value]) => name in defaults || !isEmpty(value)),
  );
}

for (const [name, family] of Object.entries(golden.families)) {
  Deno.test(`the response template of ${name} reads answers as transformers does`, () => {
    for (const { text, parsed } of family.cases) {
      const read = () => messageOf(text, family);
      if ("__error__" in parsed) assert.throws(read, text);
      else assert.deepEqual(read(), parsed, text);
    }
  });
}
