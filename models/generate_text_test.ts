/** Text from a small trained model: token by token, held to a form, aborted, refused. */
import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { refusal } from "../core/testing.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { goldenPath } from "../tests/golden.ts";
import { generate, type StructuredOutputs, type TextOptions } from "./generate_text.ts";
import { type LoadedModel, loadModel } from "./load_model.ts";

async function withModel(work: (loaded: LoadedModel) => Promise<void>): Promise<void> {
  const device = await createWasmDevice({ threads: 1 });
  const loaded = await loadModel(goldenPath("models/stories260k"), device);
  try {
    await work(loaded);
  } finally {
    loaded.model.dispose();
    device.close();
  }
}

Deno.test("tokens arrive one by one, and their texts are the completion's", () =>
  withModel(async (loaded) => {
    const options = { maxNewTokens: 12, seed: 3, n: 2 }, prompts = ["Once", "Lily and"];
    const texts = prompts.map(() => ["", ""]), ids = prompts.map((): number[][] => [[], []]);
    const streamed = await generate(loaded, prompts, {
      ...options,
      onToken({ prompt, completion, id, text, logprob }) {
        assert.ok(logprob <= 0);
        texts[prompt]![completion]! += text;
        ids[prompt]![completion]!.push(id);
      },
    });
    assert.deepEqual(streamed, await generate(loaded, prompts, options));
    assert.deepEqual(texts, streamed.map((group) => group.map(({ text }) => text)));
    assert.deepEqual(ids, streamed.map((group) => group.map((completion) => completion.ids)));
  }));

Deno.test("completions are held to a form", () =>
  withModel(async (loaded) => {
    const one = async (structuredOutputs: StructuredOutputs) =>
      (await generate(loaded, ["Once"], { maxNewTokens: 40, structuredOutputs }))[0]![0]!.text;
    assert.match(await one({ choice: ["yes", "no"] }), /^(yes|no)$/);
    assert.match(await one({ regex: "[a-c]{3}" }), /^[a-c]{3}$/);
    assert.match(await one({ json: { type: "string", maxLength: 3 } }), /^"[^]{0,3}"$/);
    for (
      const [asked, message] of [
        [{}, /expects one of json, jsonObject, regex and choice/],
        [{ regex: "a", choice: ["b"] }, /expects one of/],
        [{ choice: [] }, /choice expects texts that are not empty/],
        [{ grammar: "x" }, /has grammar, expected json/],
        [{ regex: "(" }, /\(/],
      ] as const
    ) {
      await assert.rejects(one(asked as never), refusal(message, UsageError));
    }
  }));

Deno.test("an aborted signal ends a generation with its reason", () =>
  withModel(async (loaded) => {
    const controller = new AbortController(), reason = new Error("enough"), prompts = ["Once", "A"];
    let count = 0;
    const ended = generate(loaded, prompts, {
      maxNewTokens: 200,
      onToken: () => ++count === 5 && controller.abort(reason),
      signal: controller.signal,
    });
    await assert.rejects(ended, reason);
    assert.ok(count < 200);
    await assert.rejects(generate(loaded, prompts, { signal: controller.signal }), reason);
    assert.equal((await generate(loaded, prompts, { maxNewTokens: 2 })).length, 2);
  }));

Deno.test("what is impossible is a usage error, before any work", () =>
  withModel(async (loaded) => {
    const impossible: TextOptions[] = [{ n: 0 }, { n: 1.5 }, { maxNewTokens: -1 }, { topP: 2 }, {
      temperature: -1,
    }];
    for (const options of impossible) {
      await assert.rejects(generate(loaded, ["Once"], options), UsageError);
    }
    await assert.rejects(generate(loaded, ["a ".repeat(2000)]), /leaves no room for an answer/);
  }));
