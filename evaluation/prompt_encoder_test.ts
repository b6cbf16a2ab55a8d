import assert from "node:assert/strict";
import { assemble } from "../training/assemble.ts";
import { runPrompts } from "./prompt_encoder.ts";
import { shortRunConfig, withReference } from "../training/testing.ts";

Deno.test("worked answers end with the end token; without it they are truncated", async () => {
  await withReference(async (device, dir) => {
    const config = shortRunConfig(`${dir}/run`);
    const { model, tokenizer, problems, eosIds } = await assemble(config, device);
    const prompts = runPrompts(tokenizer, config, eosIds);
    const entry = problems.trainEntry(0);
    assert.equal(prompts.text(prompts.prompt(entry).ids), entry.question);
    const answer = prompts.workedAnswer(entry);
    assert.equal(answer.at(-1), tokenizer.eosId);
    assert.equal(prompts.text(answer), `<answer>${entry.answer}</answer>`);
    assert.equal(prompts.truncated(answer), false);
    assert.equal(prompts.truncated(answer.slice(0, -1)), true);
    assert.equal(prompts.truncated([]), true);
    assert.equal(prompts.truncated([tokenizer.padId!]), false);
    model.dispose();
  });
});
