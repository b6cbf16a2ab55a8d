import assert from "node:assert/strict";
import { assemble } from "../../training/assemble.ts";
import { entriesOf } from "../../data/row_entries.ts";
import {
  byteTokenizer,
  familyTokenizer,
} from "../../models/tokenizers/dialects/dialect_testing.ts";
import type { Entry } from "../../tasks/types.ts";
import { readGoldenJson } from "../../tests/golden.ts";
import { runPrompts, type WorkedExample } from "./prompt_encoder.ts";
import { shortRunConfig, withReference } from "../../training/testing.ts";

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

Deno.test("a teacher sees the prompt of a template, or that of the data", () => {
  const tokenizer = familyTokenizer("qwen2_5"), config = shortRunConfig("run");
  const prompts = runPrompts(tokenizer, config, []);
  const entry = { question: "2 + 3?", answer: "5", metadata: { source_index: 4, hint: ["add"] } };
  const asked = (question: string) => prompts.prompt({ ...entry, question });
  const hinted = prompts.teacherPrompt(entry, "{prompt} {hint} ({answer})");
  assert.deepEqual(hinted, asked('2 + 3? ["add"] (5)'));
  assert.equal(prompts.teacherPrompt(entry, null), null);
  const own = { ...entry, teacherPrompt: { question: "The sum is 5" } };
  assert.deepEqual(prompts.teacherPrompt(own, "{prompt}"), asked("The sum is 5"));
  const messages = [{ role: "system", content: "{x}" }, { role: "user", content: "2 + 3?" }];
  assert.deepEqual(
    prompts.teacherPrompt({ ...entry, messages }, "{prompt} 5"),
    prompts.prompt({ ...entry, messages: [messages[0]!, { role: "user", content: "2 + 3? 5" }] }),
  );
  assert.throws(
    () => prompts.teacherPrompt(entry, "{prompt} {hints}"),
    /teacher\.teacher_prompt_template: \{hints\} is not in problem 5 of the data/,
  );
});

Deno.test("the answers of a preference go on from the prompt of its chat", () => {
  const tokenizer = familyTokenizer("qwen2_5");
  const prompts = runPrompts(tokenizer, shortRunConfig("run"), []);
  const chat = (content: string) => [
    { role: "user", content: "Which?" },
    { role: "assistant", content },
  ];
  const columns = { chosen: chat("this"), rejected: chat("none") };
  const [entry] = entriesOf([{ columns, place: "f:1" }], "f");
  const { promptIds, chosen, rejected } = prompts.pair(entry!);
  assert.deepEqual(promptIds, prompts.prompt(entry!).ids);
  const texts = [chosen, rejected].map((ids) => prompts.text(ids));
  assert.match(texts.join("|"), /^this.*\|none/s);
});

Deno.test("a chat template that leaves out earlier thoughts is noted where turns follow", () => {
  const notes = (family: string) => {
    const tokenizer = familyTokenizer(family);
    return runPrompts(tokenizer, shortRunConfig("run"), []).dialogueNotes("auto");
  };
  assert.match(notes("qwen3")[0]!, /leaves out the thoughts of earlier answers/);
  assert.deepEqual(notes("qwen2_5"), []);
});

Deno.test("the chat template gets the run's values, and those of the row before them", async () => {
  await withReference(async (device, dir) => {
    const config = shortRunConfig(`${dir}/run`);
    config.model.chat_template = "{{ messages[0].content }}{% if think %}+{% endif %}" +
      "{% if loud %}!{% endif %}";
    config.training.chat_template_kwargs = { think: true };
    const { model, tokenizer, problems, eosIds } = await assemble(config, device);
    const entry = problems.trainEntry(0), prompts = runPrompts(tokenizer, config, eosIds);
    assert.equal(prompts.prompt(entry).text, `${entry.question}+`);
    const templateVariables = { think: false, loud: true };
    assert.equal(prompts.prompt({ ...entry, templateVariables }).text, `${entry.question}!`);
    config.training.chat_template_kwargs = {};
    config.data.prompt_format = "plain";
    const plain = runPrompts(tokenizer, config, eosIds).prompt(entry);
    assert.equal(plain.text, entry.question);
    assert.deepEqual(plain.ids, tokenizer.encode(entry.question), "as TRL: special tokens added");
    config.data.prompt_format = "chat";
    config.training.chat_template_kwargs = { thinc: true };
    assert.throws(
      () => runPrompts(tokenizer, config, eosIds),
      /chat_template_kwargs\.thinc: the chat template does not read it, did you mean "?think/,
    );
    config.training.chat_template_kwargs = {};
    const silent = { ...config.model, chat_template: "{{ messages[5] }}" };
    const empty = await assemble({ ...config, model: silent }, device).catch((error) => error);
    assert.match(empty.message, /the chat template makes an empty prompt of these messages/);
    const template = "{{ strftime_now('%d %b %Y') }}: {{ messages[0].content }}";
    const dated = await assemble(
      { ...config, model: { ...config.model, chat_template: template } },
      device,
    );
    const onTheDay = runPrompts(dated.tokenizer, config, eosIds, "2024-07-26T23:59:59");
    assert.equal(onTheDay.prompt(entry).text, `26 Jul 2024: ${entry.question}`);
    dated.model.dispose();
    // The template is stored beside the weights.
    assert.equal(tokenizer.files().get("chat_template.jinja"), config.model.chat_template);
    model.dispose();
  });
});

const answers: {
  rows: Record<string, unknown>[];
  families: Record<string, { follows: string; answers: string[] }[]>;
} = readGoldenJson("dialects/answers.json");

Deno.test("answers that call tools are trained on where TRL's templates mark the assistant", () => {
  const rows = answers.rows.map((columns, i) => ({ columns, place: `f.jsonl:${i + 1}` }));
  const entries = entriesOf(rows, "f.jsonl");
  for (const [family, recorded] of Object.entries(answers.families)) {
    const tokenizer = familyTokenizer(family);
    const prompts = runPrompts(tokenizer, shortRunConfig("run"), []);
    const text = (parts: WorkedExample["segments"]) =>
      parts.map(({ ids }) => tokenizer.decode(ids)).join("");
    recorded.forEach(({ follows, answers }, i) => {
      const { segments } = prompts.worked(entries[i]!, true);
      // Some templates mark the line in which the answer begins, and the one behind it, too.
      assert.ok(follows.trimEnd().endsWith(text(segments)), `${family}: ${text(segments)}`);
      const own = segments.filter(({ from }) => from === "model");
      assert.equal(own.length, answers.length);
      own.forEach((one, k) => assert.ok(answers[k]!.trimEnd().endsWith(text([one])), family));
    });
  }
});

Deno.test("by default, an answer is what follows the last message of a user", () => {
  const rows = answers.rows.map((columns, i) => ({ columns, place: `f.jsonl:${i + 1}` }));
  const [calls, chat] = entriesOf(rows, "f.jsonl");
  const prompts = runPrompts(familyTokenizer("qwen2_5"), shortRunConfig("run"), []);
  const modelTurns = (entry: Entry, all: boolean) =>
    prompts.worked(entry, all).segments.filter(({ from }) => from === "model").length;
  assert.deepEqual([modelTurns(calls!, false), modelTurns(calls!, true)], [3, 3]);
  assert.deepEqual([modelTurns(chat!, false), modelTurns(chat!, true)], [1, 2]);
  const messages = chat!.messages!.flatMap((m) => m.role === "assistant" ? [m, m] : [m]);
  assert.throws(
    () => modelTurns({ ...chat!, messages }, true),
    /problem 2 of the data: an assistant's message follows another one/,
  );
  const { isOneColumn: _, ...apart } = chat!;
  assert.equal(modelTurns(apart, true), 1, "of a prompt in a column of its own nothing is trained");
});

Deno.test("rows with tools are refused where the chat template does not show them", () => {
  const rows = answers.rows.map((columns, i) => ({ columns, place: `f.jsonl:${i + 1}` }));
  const [calls] = entriesOf(rows, "f.jsonl"), config = shortRunConfig("run");
  const worked = (template: string | null) =>
    runPrompts(byteTokenizer(template), config, []).worked(calls!, false);
  const silent = "{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}";
  assert.throws(
    () => worked(silent),
    /problem 1 of the data: tools cannot be shown to this model: the chat template leaves out tools/,
  );
  assert.throws(() => worked(null), /this model: the model is prompted with plain text/);
});
