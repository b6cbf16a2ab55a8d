/**
 * The tool loops that TRL 1.16 ran with a scripted generator: the same ids, the same mask and the
 * same counts. Where TRL's loop has a flaw, the difference is listed.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { familyTokenizer } from "../../models/tokenizers/dialects/dialect_testing.ts";
import { readGoldenJson } from "../../tests/golden.ts";
import { idsOf, lossMask } from "./segments.ts";
import { withGame, writeEnvironment } from "./testing.ts";
import type { StopReason } from "./dialogue.ts";

interface Recorded {
  case: string;
  max_completion_length: number;
  max_tool_calling_iterations: number | null;
  scripts: string[][];
  completion_ids: number[][];
  tool_mask: string[];
  calls: number;
  failures: number;
}

const { cases } = readGoldenJson<{ cases: Recorded[] }>("dialects/tool-loops.json");
const tokenizer = familyTokenizer("qwen3");

const integers = (...names: string[]) =>
  `{ type: "object", properties: {${names.map((name) => `${name}: { type: "integer" }`)}}, ` +
  `required: ${JSON.stringify(names)} }`;
const TOOLS = `{ tools: {
  multiply: { description: "Multiplies.", parameters: ${
  integers("a", "b")
}, run: ({ a, b }) => a * b },
  amultiply: {
    description: "Multiplies.",
    parameters: ${integers("a", "b")},
    run: async ({ a, b }) => a * b,
  },
  long: { description: "Long text.", parameters: ${
  integers("n")
}, run: ({ n }) => "word ".repeat(n) },
  yes: { description: "Says yes.", run: () => true },
  rec: { description: "A record.", run: () => ({ x: 1, ok: null, s: "it's" }) },
} }`;

/** Texts of TRL's context, and those of rgx in their place. */
const TEXTS: Record<string, [trl: string, rgx: string][]> = {
  // Results are JSON, not Python's representation.
  python_reprs: [["True", "true"], [
    `{'x': 1, 'ok': None, 's': "it's"}`,
    `{"x":1,"ok":null,"s":"it's"}`,
  ]],
  no_arguments_key: [["True", "true"]],
  unknown_tool: [["{'error': 'Tool nope not found.'}", '{"error":"Tool nope not found."}']],
  // Results in the order of the calls.
  sync_before_async: [[
    "30\n</tool_response>\n<tool_response>\n12",
    "12\n</tool_response>\n<tool_response>\n30",
  ]],
};

/** Other ends of dialogues than an answer without calls. */
const STOPS: Record<string, StopReason> = {
  malformed_json: "parse_error",
  unclosed_call: "length",
  no_eos_after_call: "length",
  overlong_result_rolled_back: "length",
  answer_cut_to_budget: "length",
  result_exactly_fills_budget: "length",
  iteration_cap: "max_tool_calls",
};
/** TRL runs a call that was cut off. */
const NOT_RUN = ["unclosed_call", "no_eos_after_call"];

const withTools = (work: Parameters<typeof withGame>[1]) =>
  withFolder(async (folder) => {
    const tools = [await writeEnvironment(folder, TOOLS)];
    await withGame({ tools, tokenizer }, work);
  });

Deno.test("16 tool loops of TRL have the same ids and masks, but for its flaws", async () => {
  assert.equal(cases.length, 16);
  await withTools(async (play) => {
    for (const recorded of cases) {
      const name = recorded.case;
      const { dialogues } = await play(recorded.scripts, {
        maxTokens: recorded.max_completion_length,
        limits: { max_tool_calling_iterations: recorded.max_tool_calling_iterations },
      });
      const counts = { calls: 0, failures: 0 };
      for (const [i, dialogue] of dialogues.entries()) {
        const ids = idsOf(dialogue), mask = lossMask(dialogue) ?? ids.map(() => 1);
        const trained = recorded.completion_ids[i]!.filter((_, t) =>
          recorded.tool_mask[i]![t] === "1"
        );
        const { stop } = dialogue.about;
        assert.equal(stop, STOPS[name] ?? "completed", name);
        for (const { calls, failures } of Object.values(dialogue.about.tools)) {
          counts.calls += calls;
          counts.failures += failures;
        }
        if (NOT_RUN.includes(name)) {
          assert.deepEqual(ids, tokenizer.encode(recorded.scripts[i]![0]!), name);
          continue;
        }
        assert.deepEqual(ids.filter((_, t) => mask[t] === 1), trained, name);
        let text = tokenizer.decode(recorded.completion_ids[i]!);
        for (const [trl, rgx] of TEXTS[name] ?? []) text = text.replace(trl, rgx);
        if (name === "trl_test_train_with_tools" && i === 1) {
          // The message of a call with a wrong argument is Python's.
          text = text.replace(/(?<=<tool_response>\n).*(?=\n<\/tool_response>)/s, WRONG_ARGUMENT);
        } else if (TEXTS[name] === undefined) {
          assert.deepEqual(ids, recorded.completion_ids[i], name);
          assert.equal(mask.join(""), recorded.tool_mask[i], name);
        }
        assert.equal(tokenizer.decode(ids), text, name);
      }
      if (NOT_RUN.includes(name)) continue;
      // A call that cannot be read counts as a failure; a limit that ends a dialogue runs nothing.
      const isCounted = name !== "malformed_json";
      assert.deepEqual(
        [counts.calls, counts.failures],
        isCounted ? [recorded.calls, recorded.failures] : [1, 1],
        name,
      );
    }
  });
});

const WRONG_ARGUMENT = '{"error":"The argument b is missing."}';
