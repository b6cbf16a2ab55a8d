/** Answers through transformers' response templates, held against transformers itself. */
import assert from "node:assert/strict";
import type { Tool } from "../../../core/chat_message.ts";
import { readGoldenJson } from "../../../tests/golden.ts";
import { parseResponse } from "./response_parser.ts";
import { compileResponseTemplate } from "./response_template.ts";

interface Golden {
  tools: Tool[];
  families: Record<string, Recorded>;
}

interface Recorded {
  template: unknown;
  prefix: string;
  cases: { text: string; parsed: Record<string, unknown> }[];
}

const golden: Golden = readGoldenJson("dialects/response-template.json");

for (const [name, { template, prefix, cases }] of Object.entries(golden.families)) {
  Deno.test(`the response template of ${name} reads answers as transformers does`, () => {
    const compiled = compileResponseTemplate(template, name, true);
    for (const { text, parsed } of cases) {
      const read = () => parseResponse(text, compiled, { prompt: prefix, tools: golden.tools });
      if ("__error__" in parsed) assert.throws(read, text);
      else assert.deepEqual(read(), parsed, text);
    }
  });
}
