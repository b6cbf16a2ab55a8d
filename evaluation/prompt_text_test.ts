/** Worked examples in prompts. */
import assert from "node:assert/strict";
import { DEFAULT_PROMPT_SETTINGS } from "./prompt_settings.ts";
import { promptMessages, promptText } from "./prompt_text.ts";
import { systemPromptText } from "../data/prompt.ts";
import { TAGS } from "../data/solution_format.ts";
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

Deno.test("worked examples have the form of the gsm8k system prompt, given as name or text", () => {
  const [entry, shot] = ["2 + 2?", "1 + 1?"].map((question) => ({
    question,
    answer: "2",
    metadata: { source_dataset: "gsm8k", work: "1 + 1 = 2", completion: "1 + 1 = 2\n#### 2" },
  }));
  const promptWith = (systemPrompt: string | null) =>
    promptText(
      entry!,
      [shot!],
      { ...DEFAULT_PROMPT_SETTINGS, few_shot: 1, system_prompt: systemPrompt },
      null,
    );
  const { workStart, workEnd, solutionStart, solutionEnd } = TAGS;
  const worked = `${workStart}\n1 + 1 = 2\n${workEnd}\n${solutionStart}2${solutionEnd}`;
  // Benchmarks replace the name of a system prompt by its text.
  assert.equal(promptWith("gsm8k"), promptWith(systemPromptText("gsm8k")));
  assert.ok(promptWith("gsm8k").includes(worked));
  assert.ok(!promptWith("simple").includes(worked));
});
