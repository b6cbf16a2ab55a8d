/** Worked examples and conversations in prompts. */
import assert from "node:assert/strict";
import type { Entry } from "../../tasks/types.ts";
import { DEFAULT_PROMPT_SETTINGS, type PromptSettings, settingsFor } from "./prompt_settings.ts";
import { promptMessages, promptText } from "./prompt_text.ts";
import { type ChatTemplate, systemPromptText, UNIVERSAL_INSTRUCTION } from "../../data/prompt.ts";
import type { PromptRole } from "../../data/prompt_roles.ts";
import { TAGS } from "../../data/solution_format.ts";
import { createTestSet } from "../plan/test_set.ts";

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

const user = (content: string) => ({ role: "user", content });
const CHAT: Entry = {
  question: "Q0\n\nA0\n\nQ1",
  answer: "A1",
  metadata: { source_dataset: "file" },
  messages: [user("Q0"), { role: "assistant", content: "A0" }, user("Q1")],
};
const join: ChatTemplate = (messages) =>
  messages.map(({ role, content }) => `[${role}]${content}`).join("");

Deno.test("a conversation is the prompt as it is; a system prompt is added where it has none", () => {
  const text = (entry: Entry, more: Partial<PromptSettings> = {}) =>
    promptText(entry, [], { ...DEFAULT_PROMPT_SETTINGS, ...more }, join);
  assert.equal(text(CHAT), "[user]Q0[assistant]A0[user]Q1");
  assert.equal(text(CHAT, { system_prompt: "S." }), "[system]S.[user]Q0[assistant]A0[user]Q1");
  const own = { ...CHAT, messages: [{ role: "system", content: "mine" }, ...CHAT.messages!] };
  assert.equal(text(own, { system_prompt: "S." }), "[system]mine[user]Q0[assistant]A0[user]Q1");
  assert.equal(
    text(CHAT, { add_instructions: true }),
    `[user]Q0[assistant]A0[user]${UNIVERSAL_INSTRUCTION}\n\nQ1`,
  );
  const shots = [{ question: "1?", answer: "2", metadata: {} }];
  const few = { ...DEFAULT_PROMPT_SETTINGS, add_instructions: false, few_shot: 1 };
  assert.equal(
    promptText(CHAT, shots, few, join),
    "[user]Q0[assistant]A0[user]1?\n<answer>2</answer>\n\nQ1",
  );
  assert.equal(
    promptText(own, shots, { ...few, few_shot_as: "turns" }, join),
    "[system]mine[user]1?[assistant]<answer>2</answer>[user]Q0[assistant]A0[user]Q1",
  );
});

Deno.test("the system prompt can have another role, which the chat template must write", () => {
  const settings = { ...DEFAULT_PROMPT_SETTINGS, add_instructions: false, system_prompt: "S." };
  const entry = { ...CHAT, messages: [user("Q")] };
  const as = (role: PromptRole, template: ChatTemplate | null) =>
    promptText(entry, [], { ...settings, system_role: role }, template);
  assert.equal(as("developer", join), "[developer]S.[user]Q");
  assert.equal(as("developer", null), "S.\n\nQ");
  assert.equal(as("user", null), "S.\n\nQ");
  const usersOnly: ChatTemplate = (messages) =>
    join(messages.filter(({ role }) => role === "user"));
  assert.equal(as("user", usersOnly), "[user]S.[user]Q");
  // A conversation's own message for the model stays the only one.
  const own = { ...CHAT, messages: [{ role: "developer", content: "Mine." }, user("Q")] };
  assert.equal(promptText(own, [], settings, join), "[developer]Mine.[user]Q");
  assert.throws(() => as("developer", usersOnly), /writes nothing for the role "developer"/);
});

Deno.test("without a chat template only a question can be asked", () => {
  const plain = { ...DEFAULT_PROMPT_SETTINGS, add_instructions: false };
  assert.throws(
    () => promptText(CHAT, [], plain, null),
    /several turns needs a chat template.*user, assistant, user/,
  );
  const one = { ...CHAT, messages: [{ role: "system", content: "S." }, user("Q")] };
  assert.equal(promptText(one, [], plain, null), "S.\n\nQ");
});

Deno.test("the instruction stands before the questions of rgx's own tasks alone", () => {
  const asked = (settings: PromptSettings) =>
    promptText({ ...CHAT, messages: [user("Q")] }, [], settings, join);
  assert.equal(asked(settingsFor(DEFAULT_PROMPT_SETTINGS, false)), "[user]Q");
  assert.equal(
    asked(settingsFor(DEFAULT_PROMPT_SETTINGS, true)),
    `[user]${UNIVERSAL_INSTRUCTION}\n\nQ`,
  );
  const said = { ...DEFAULT_PROMPT_SETTINGS, add_instructions: true };
  assert.equal(settingsFor(said, false).add_instructions, true);
});
