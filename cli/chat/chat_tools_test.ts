/** A chat in which the model calls tools of a file. */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal, withFolder } from "../../core/testing.ts";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { SIZES, tokenizer, writeBase } from "../../models/adapter_testing.ts";
import { familyTokenizer } from "../../models/tokenizers/dialects/dialect_testing.ts";
import { ModelHost } from "../../serve/model_host.ts";
import { Chat, ChatTools } from "./chat.ts";

const TOOLS = `export default { tools: { multiply: {
  description: "Multiplies two numbers.",
  parameters: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } },
  run({ a, b }, state) {
    if (a > 99) throw new Error("too large");
    state.count = (state.count ?? 0) + 1;
    return { content: a * b + ", call " + state.count };
  },
} } };`;

/** What a program writes to stdout and stderr while `work` runs. */
async function written(work: () => Promise<unknown>): Promise<{ out: string; err: string }> {
  const [out, err] = [Deno.stdout, Deno.stderr].map((stream) => {
    const all: number[] = [], { writeSync } = stream;
    stream.writeSync = (bytes) => all.push(...bytes) && bytes.length;
    return { end: () => stream.writeSync = writeSync, all };
  });
  try {
    await work();
  } finally {
    out!.end();
    err!.end();
  }
  const text = ({ all }: { all: number[] }) => new TextDecoder().decode(Uint8Array.from(all));
  return { out: text(out!), err: text(err!) };
}

Deno.test("a chat runs the tools that the model calls, and shows calls and results", () =>
  withFolder(async (folder) => {
    const own = familyTokenizer("qwen3"), path = `${folder}/tools.ts`;
    await Deno.writeTextFile(path, TOOLS);
    await writeBase({ ...SIZES, vocabSize: own.vocabSize, maxPositions: 4096 }, folder, own);
    const device = createReferenceDevice(), host = await ModelHost.open(`${folder}/base`, device);
    const call = (name: string, a: number) =>
      `<tool_call>\n{"name": "${name}", "arguments": {"a": ${a}, "b": 4}}\n</tool_call>`;
    const said = [
      `<think>\nhm\n</think>\n\nI see.\n${call("multiply", 3)}\n${call("other", 3)}<|im_end|>`,
      `${call("multiply", 100)}<|im_end|>`,
      "It is 12.<|im_end|>",
      // Cut off, so it is not run.
      `<tool_call>\n{"name": "multiply", "arguments": {"a": 1}}`,
    ];
    const prompts: string[] = [];
    host.generate = async (_, { promptIds, onToken }) => {
      prompts.push(own.decode(promptIds));
      const text = said[prompts.length - 1]!, ids = own.encode(text, { addSpecialTokens: false });
      for (const id of ids) onToken?.(0, id, -1);
      const finishReason = text.endsWith("<|im_end|>") ? "stop" : "length";
      return await Promise.resolve([{ ids, logprobs: [], finishReason }]);
    };
    const tools = await ChatTools.open([path], own), lines = ["3 times 4?", "/history", "again"];
    const source = {
      isTerminal: false,
      next: () => Promise.resolve(lines.length === 0 ? "end" as const : { line: lines.shift()! }),
    };
    const sampling = { temperature: 1, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1, seed: 1 };
    const flags = { ...sampling, maxNewTokens: 500 } as ConstructorParameters<typeof Chat>[2];
    try {
      const chat = new Chat(host, new Map(), flags, source, tools);
      const { out, err } = await written(() => chat.run());
      assert.equal(
        out,
        'I see.\nIt is 12.\n<tool_call>\n{"name": "multiply", "arguments": {"a": 1}}\n',
      );
      const notes = [
        '→ multiply({"a":3,"b":4})',
        "← 12, call 1",
        '→ other({"a":3,"b":4})',
        '← {"error":"Tool other not found."}',
        '→ multiply({"a":100,"b":4})',
        '← {"error":"too large (line 5, column 23)"}',
      ];
      const history = [
        "[user] 3 times 4?",
        "[assistant] I see.",
        '[assistant] multiply({"a":3,"b":4})',
        '[assistant] other({"a":3,"b":4})',
        "[tool] 12, call 1",
        '[tool] {"error":"Tool other not found."}',
        '[assistant] multiply({"a":100,"b":4})',
        '[tool] {"error":"too large (line 5, column 23)"}',
        "[assistant] It is 12.",
      ];
      const cut =
        'note: a call that is not run: the answer ends within a call: <tool_call> {"name": ' +
        '"multiply", "arguments": {"a": 1}}';
      assert.deepEqual(err.trimEnd().split("\n"), [...notes, ...history, cut]);
      assert.match(prompts[0]!, /"name": "multiply", "description": "Multiplies two numbers\."/);
      assert.match(prompts[1]!, /<tool_response>\n12, call 1\n<\/tool_response>\n<tool_response>/);
      // On a terminal, thoughts come piece by piece on one line.
      prompts.length = 0;
      lines.push("3 times 4?");
      const shown = new Chat(host, new Map(), flags, { ...source, isTerminal: true }, tools);
      const seen = await written(() => shown.run());
      // deno-lint-ignore no-control-regex
      assert.match(seen.out.replaceAll(/\x1b\[\d+m/g, ""), /^hm\nI see\.\nIt is 12\.\n/);
      assert.match(seen.err, /; tools: multiply; \/help/);
    } finally {
      await tools!.close();
      host.close();
      device.close();
    }
    await assert.rejects(
      ChatTools.open([path], tokenizer),
      refusal(/--tools: the model has no chat template/, UsageError),
    );
    await assert.rejects(ChatTools.open([`${folder}/none.ts`], own), /none\.ts/);
    assert.equal(await ChatTools.open([], own), null);
  }));
