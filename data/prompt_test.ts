import assert from "node:assert/strict";
import type { ChatMessage } from "../core/chat_message.ts";
import { extractAnswer } from "./extract.ts";
import {
  formatQuestion,
  renderPrompt,
  SYSTEM_PROMPTS,
  systemPromptText,
  UNIVERSAL_INSTRUCTION,
} from "./prompt.ts";
import { TAGS } from "./solution_format.ts";

Deno.test("the universal instruction stands before the question, word for word", () => {
  assert.equal(
    formatQuestion("What is 1 + 1?", { addInstructions: true }),
    "Think step by step and solve the problem carefully. When you have your final answer, format " +
      "it " +
      "as: <answer>your answer here</answer>\n\nWhat is 1 + 1?",
  );
  assert.equal(formatQuestion("What?"), `${UNIVERSAL_INSTRUCTION}\n\nWhat?`);
  assert.equal(formatQuestion("What?", { addInstructions: false }), "What?");
});

Deno.test("a chat template gets the system prompt and the user's message", () => {
  const seen: ChatMessage[][] = [];
  const chatTemplate = (messages: ChatMessage[]) => {
    seen.push(messages);
    return messages.map(({ role, content }) => `[${role}] ${content}`).join("\n");
  };
  const options = { question: "Q?", addInstructions: false, chatTemplate };
  assert.equal(
    renderPrompt({ ...options, systemPrompt: "Be brief." }),
    "[system] Be brief.\n[user] Q?",
  );
  assert.equal(renderPrompt({ ...options, systemPrompt: null }), "[user] Q?");
  assert.equal(seen[1]!.length, 1);
});

Deno.test("without a chat template the prompt is plain text", () => {
  assert.equal(renderPrompt({ question: "Q?", addInstructions: false }), "Q?");
  assert.equal(
    renderPrompt({
      question: "Q?",
      addInstructions: false,
      systemPrompt: "S",
      chatTemplate: () => null,
    }),
    "S\n\nQ?",
  );
  assert.throws(() => renderPrompt({ question: "" }), /empty/);
});

Deno.test("the named system prompts exist and ask for answer tags, gsm8k for the recipe's", () => {
  assert.deepEqual(
    Object.keys(SYSTEM_PROMPTS).sort(),
    ["DeepSeekZero", "chain_of_draft", "default", "direct", "gsm8k", "simple"],
  );
  for (const [name, text] of Object.entries(SYSTEM_PROMPTS)) {
    assert.equal(systemPromptText(name), text);
    const tags = name === "gsm8k" ? Object.values(TAGS) : ["<answer>", "</answer>"];
    for (const tag of tags) assert.ok(text.includes(tag), `${name}: ${tag}`);
  }
  assert.ok(SYSTEM_PROMPTS["DeepSeekZero"]!.includes("<think>"));
  assert.equal(systemPromptText("You are a poet."), "You are a poet.");
  assert.equal(systemPromptText("Rhyme"), "Rhyme");
  assert.throws(() => systemPromptText("defualt"), /"defualt": no such name, did you mean default/);
  assert.equal(systemPromptText("Defualt."), "Defualt.");
  assert.equal(extractAnswer(formatQuestion("Q?")), "your answer here");
});
