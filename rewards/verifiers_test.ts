/** The format of verifiers' XMLParser, held against verifiers itself. */
import assert from "node:assert/strict";
import { mean } from "../core/statistics.ts";
import { readGoldenJson } from "../tests/golden.ts";
import { getReward } from "./registry.ts";
import type { RewardInput } from "./types.ts";
import { taggedText } from "./verifiers.ts";

interface Recorded {
  fields: (string | string[])[];
  text?: string;
  conversation?: { role: string; content: string }[];
  parse: Record<string, string | null>;
  parse_last: Record<string, string | null>;
  format_reward: number;
}

Deno.test("xml_format and the texts of tags are those of verifiers' XMLParser", () => {
  const reward = getReward("xml_format"),
    recorded = readGoldenJson<Recorded[]>(
      "dialects/xml-parser.json",
    );
  assert.ok("compute" in reward);
  for (const one of recorded) {
    const fields = one.fields.map((field) => [field].flat().join("|"));
    const valueOf = (completion: string): number =>
      reward.compute({ completion } as RewardInput, { fields }) as number;
    // verifiers averages the assistant's messages of a dialogue.
    const said = one.conversation?.filter(({ role }) => role === "assistant") ?? [];
    const texts = one.text === undefined ? said.map(({ content }) => content) : [one.text];
    assert.equal(mean(texts.map(valueOf)), one.format_reward, JSON.stringify(one));
    for (const tag of Object.keys(one.parse ?? {})) {
      assert.equal(taggedText(one.text!, tag), one.parse[tag], one.text);
      assert.equal(taggedText(one.text!, tag, true), one.parse_last[tag], one.text);
    }
  }
  assert.equal(recorded.length, 34);
});
