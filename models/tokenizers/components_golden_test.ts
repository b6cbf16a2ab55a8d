/** Every component of a tokenizer against values recorded from Hugging Face's tokenizers. */
import assert from "node:assert/strict";
import { readGoldenJson } from "../../tests/golden.ts";
import { decoderOf } from "./components/decoders.ts";
import { normalizerOf } from "./components/normalizers.ts";
import { preTokenizerOf } from "./components/pre_tokenizers.ts";
import { TokenizerPipeline } from "./pipeline.ts";
import { MissingToken } from "./subwords/subword_model.ts";
import { tokenizerFromFiles } from "./tokenizer.ts";

type Json = Record<string, unknown>;

/** A component, and what it makes of its inputs. */
interface Recorded<Input, Output> {
  json: Json;
  cases: [input: Input, output: Output][];
}

interface Golden {
  normalizers: Recorded<string, string>[];
  pre_tokenizers: Recorded<string, string[]>[];
  decoders: Recorded<string[], string>[];
  /** Null: the text is refused. */
  models: (Recorded<string, number[] | null> & { pre_tokenizer: Json | null })[];
  /** Ids, and where they are recorded texts with and without special tokens. */
  tokenizers: { json: Json; cases: [string, number[], string?, string?][] }[];
}

const golden = readGoldenJson<Golden>("tokenizer_components.json");
/** Difficult texts, and the pieces that each pre-tokenizer makes of them. */
const difficult = readGoldenJson<{ texts: string[]; parts: { part: Json; pieces: string[][] }[] }>(
  "pre_tokenizers.json",
);

function hold<Input, Output>(
  { json, cases }: Recorded<Input, Output>,
  compute: (input: Input) => Output,
): void {
  for (const [input, output] of cases) {
    assert.deepEqual(
      compute(input),
      output,
      `${JSON.stringify(json)} of ${JSON.stringify(input)}`,
    );
  }
}

Deno.test("normalizers change texts as recorded", () => {
  for (const recorded of golden.normalizers) hold(recorded, normalizerOf(recorded.json)!);
});

Deno.test("pre-tokenizers cut texts as recorded", () => {
  const difficultParts = difficult.parts.map(({ part, pieces }) => ({
    json: part,
    cases: difficult.texts.map((text, i): [string, string[]] => [text, pieces[i]!]),
  }));
  for (const recorded of [...golden.pre_tokenizers, ...difficultParts]) {
    const cut = preTokenizerOf(recorded.json)!;
    hold(recorded, (text) => cut(text, true));
  }
});

Deno.test("decoders put tokens together as recorded", () => {
  for (const recorded of golden.decoders) {
    const decode = decoderOf(recorded.json)!;
    hold(recorded, (tokens) => decode(tokens).join(""));
  }
});

Deno.test("models give the recorded ids, of single words and of whole texts", () => {
  for (const { pre_tokenizer, ...recorded } of golden.models) {
    const pipeline = new TokenizerPipeline({ model: recorded.json, pre_tokenizer });
    hold(recorded, (text) => {
      try {
        return pipeline.encode(text);
      } catch (error) {
        assert.ok(error instanceof MissingToken);
        return null;
      }
    });
  }
});

Deno.test("whole tokenizers encode and decode as recorded", () => {
  for (const { json, cases } of golden.tokenizers) {
    const files = new Map([["tokenizer.json", JSON.stringify(json)]]);
    const tokenizer = tokenizerFromFiles(files, "here");
    for (const [text, ids, decoded, withoutSpecials] of cases) {
      const what = `${JSON.stringify(json)} of ${JSON.stringify(text)}`;
      assert.deepEqual(tokenizer.encode(text), ids, what);
      if (decoded === undefined) continue;
      assert.equal(tokenizer.decode(ids), decoded, what);
      assert.equal(tokenizer.decode(ids, { skipSpecialTokens: true }), withoutSpecials, what);
    }
  }
});
