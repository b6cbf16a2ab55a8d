/** Worked examples in prompts. */
import assert from "node:assert/strict";
import { DEFAULT_PROMPT_SETTINGS } from "./prompt_settings.ts";
import { promptMessages, promptText } from "./prompt_text.ts";
import { createTestSet } from "../bench/plan/test_set.ts";

Deno.test("no problem is among its own worked examples, and all have the same number", () => {
  // This task has so few questions that both splits draw the same ones.
  const set = createTestSet({ name: "tower_of_hanoi" }, { seed: 42, size: 100, fewShot: 5 });
  const drawn = new Set(set.shots.map(({ question }) => question));
  assert.ok(set.entries.some(({ question }) => drawn.has(question)));
  for (const entry of set.entries) {
    const times = (text: string) => text.split(entry.question).length - 1;
    const settings = { ...DEFAULT_PROMPT_SETTINGS, few_shot: 5 };
    const prompt = promptText(entry, set.shots, settings, null);
    assert.equal(times(prompt), 1, entry.question);
    const others = set.shots.filter(({ question }) => question !== entry.question);
    assert.equal(others.filter(({ question }) => prompt.includes(question)).length, 5);
    const turns = promptMessages(entry, set.shots, { ...settings, few_shot_as: "turns" });
    assert.equal(turns.length, 11);
    assert.equal(turns.filter(({ content }) => times(content) > 0).length, 1);
  }
});
