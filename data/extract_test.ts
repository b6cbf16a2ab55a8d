import assert from "node:assert/strict";
import { assertFast } from "../core/time_limit_testing.ts";
import { readGoldenJson } from "../tests/golden.ts";
import { RandomStream } from "../core/philox.ts";
import { PYTHON_SPACE } from "../tasks/python/text.ts";
import { extractAnswer } from "./extract.ts";

interface Row {
  completion: string;
  strip: boolean;
  tag_name: string;
  result: string | null;
}

Deno.test("the recorded extractions are the same", () => {
  const { extract_answer } = readGoldenJson<{ extract_answer: Row[] }>(
    "reasoning-gym/core/utils.json",
  );
  assert.ok(extract_answer.length >= 70);
  for (const { completion, strip, tag_name, result } of extract_answer) {
    assert.equal(extractAnswer(completion, tag_name, strip), result, completion);
  }
});

Deno.test("random texts give what the regular expression gives", () => {
  const pattern = new RegExp(
    `<answer>[${PYTHON_SPACE}]?([^]*?)[${PYTHON_SPACE}]?</answer>`,
    "g",
  );
  const pieces = ["<answer>", "</answer>", " ", "\n", "\u001c", "\ufeff", "x", "<", "answer>"];
  const random = RandomStream.forPurpose(1, "shuffle", "extract");
  for (let i = 0; i < 5000; i++) {
    const text = Array.from({ length: random.int(0, 9) }, () => random.choice(pieces)).join("");
    const expected = [...text.matchAll(pattern)].at(-1)?.[1] ?? null;
    assert.equal(extractAnswer(text, "answer", false), expected, JSON.stringify(text));
  }
});

Deno.test("many unclosed tags take no more than linear time", () => {
  assertFast(1000, () => assert.equal(extractAnswer("<answer>".repeat(200_000)), null));
});
