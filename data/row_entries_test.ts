/** Rows of the data sets that people bring: conversations, and the columns of public sets. */
import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { goldenPath } from "../tests/golden.ts";
import type { Entry } from "../tasks/types.ts";
import { openProblems } from "./open_problems.ts";
import { readRows } from "./read_rows.ts";
import { entriesOf } from "./row_entries.ts";
import { scoreCompletion } from "./score_completion.ts";
import { FROM_FILE, withFile } from "./testing.ts";
import { workedAnswer } from "./worked_answer.ts";

type Row = Record<string, unknown>;

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const system = (content: string) => ({ role: "system", content });

function read(...rows: Row[]): Entry[] {
  return entriesOf(rows.map((columns, i) => ({ columns, place: `f.jsonl:${i + 1}` })), "f.jsonl");
}

/** All entries of a file as a run reads them, by their index. */
function opened(rows: readonly Row[]): Promise<Entry[]> {
  return withFile(rows, async (path) => {
    const source = await openProblems({ ...FROM_FILE, dataset_name: path });
    return (["train", "validation", "test"] as const).flatMap((split) =>
      Array.from({ length: source.length(split) }, (_, i) => source.entry(split, i))
    ).sort((a, b) => Number(a.metadata["source_index"]) - Number(b.metadata["source_index"]));
  });
}

Deno.test("a prompt of messages stays the conversation that it is", () => {
  const chat = [system("S"), user("Q0"), assistant("A0"), user("Q1")];
  const [one, open, last] = read(
    { prompt: chat, answer: "A1", level: 3 },
    { prompt: [user("Q")], tags: ["a", "b"] },
    { prompt: [user("Q"), assistant("It is")] },
  );
  assert.deepEqual(one!.messages, chat);
  assert.deepEqual([one!.question, one!.answer, one!.metadata["level"]], [
    "Q0\n\nA0\n\nQ1",
    "A1",
    3,
  ]);
  assert.deepEqual([open!.question, open!.answer, open!.messages], ["Q", null, [user("Q")]]);
  assert.deepEqual(open!.metadata["tags"], ["a", "b"]);
  assert.deepEqual(last!.messages!.at(-1), assistant("It is"));
});

const CALL = { id: "a", type: "function", function: { name: "add", arguments: '{"x": 1}' } };

Deno.test("calls of tools in a prompt need no text, and have their arguments by name", () => {
  const result = { role: "tool", tool_call_id: "a", content: "2" };
  const call = { role: "assistant", content: "", tool_calls: [CALL] };
  const [openAI, table] = read(
    { prompt: [user("Q"), { ...call, content: null }, result] },
    { prompt: [user("Q"), { ...call, tool_calls: JSON.stringify([CALL]) }, result] },
  );
  const shown = [{ ...CALL, function: { name: "add", arguments: { x: 1 } } }];
  for (const { messages } of [openAI!, table!]) {
    assert.deepEqual(messages, [user("Q"), { ...call, tool_calls: shown }, result]);
  }
});

Deno.test("answers of one message or several may be JSON texts, as tables have them", () => {
  const result = { role: "tool", tool_call_id: "a", content: "2" };
  const answer = [{ role: "assistant", tool_calls: [CALL] }, result, assistant("It is 2.")];
  const [entry, one] = read(
    { prompt: "1 + 1?", completion: JSON.stringify(answer) },
    { prompt: "1 + 1?", completion: JSON.stringify([assistant("So <answer>2</answer>")]) },
  );
  assert.deepEqual(entry!.answerMessages?.slice(1), answer.slice(1));
  const { answer: right, metadata, answerMessages } = one!;
  assert.deepEqual([right, metadata["completion"]], ["2", "So <answer>2</answer>"]);
  assert.equal(answerMessages, undefined);
});

Deno.test("what two answers begin with is the prompt, however its fields are ordered", () => {
  const rejected = [{ content: "Q", role: "user" }, assistant("B")];
  const [entry] = read({ chosen: [user("Q"), assistant("A")], rejected });
  assert.deepEqual(entry!.messages, [user("Q")]);
  assert.deepEqual(entry!.preference?.rejected, [assistant("B")]);
});

Deno.test("messages keep further fields, without those that are null in a table", () => {
  const thoughts = { ...assistant("4"), reasoning_content: "2 and 2", tool_calls: null };
  const [entry] = read({ prompt: [user("2+2?"), thoughts, user("Sure?")] });
  assert.deepEqual(entry!.messages![1], { ...assistant("4"), reasoning_content: "2 and 2" });
  const part = [{ type: "text", text: "Q" }];
  assert.deepEqual(read({ prompt: [{ role: "user", content: part }] })[0]!.messages, [user("Q")]);
});

Deno.test("values for the chat template come from their column, and rewards see it too", () => {
  const [quiet, plain] = read(
    { prompt: [user("Q")], chat_template_kwargs: { enable_thinking: false, date: null } },
    { question: "Q", answer: "A", chat_template_kwargs: null },
  );
  assert.deepEqual(quiet!.templateVariables, { enable_thinking: false });
  assert.deepEqual(quiet!.metadata["chat_template_kwargs"], { enable_thinking: false, date: null });
  assert.equal(plain!.templateVariables, undefined);
});

Deno.test("messages that end with an assistant's give its completion", () => {
  const openAi = { messages: [system("S"), user("Q"), assistant("A")] };
  const shareGpt = {
    conversations: [
      { from: "system", value: "S" },
      { from: "human", value: "Q" },
      { from: "gpt", value: "A" },
    ],
  };
  for (const [entry] of [read(openAi), read(shareGpt)]) {
    assert.deepEqual(entry!.messages, [system("S"), user("Q")]);
    assert.deepEqual([entry!.question, entry!.answer, workedAnswer(entry!)], ["Q", "A", "A"]);
  }
  const [open] = read({ messages: [user("Q")], answer: "B" });
  assert.deepEqual([open!.messages, open!.answer], [[user("Q")], "B"]);
});

Deno.test("a bad conversation is refused with its place and what to write", () => {
  const cases: [Row, RegExp][] = [
    [{ prompt: null, answer: "A" }, /f\.jsonl:1: prompt is null, expected a prompt/],
    [{ prompt: [] }, /f\.jsonl:1: prompt: an empty list, expected one message/],
    [{ messages: [] }, /f\.jsonl:1: messages: an empty list/],
    [{ prompt: [user("Q"), system("S")] }, /the last message has the role "system"/],
    [{ prompt: [{ role: "usr", content: "Q" }] }, /role "usr", .*did you mean "?user/],
    [{ prompt: ["Q"] }, /prompt: message 1: expected an object with role and content, found "Q"/],
    [{ prompt: [{ content: "Q" }] }, /message 1: has no role \(its fields: content\)/],
    [{ prompt: [{ role: "user" }] }, /message 1 \(user\): has no content \(its fields: role\)/],
    [{ prompt: [{ role: "user", content: null }] }, /\(user\): has no content \(its/],
    [{ prompt: [{ role: "user", content: 3 }] }, /\(user\): the content must be a text, found 3/],
    [
      { prompt: [user("Q"), { role: "assistant", content: null, tool_calls: [{}] }, user("Q")] },
      /message 2: call 1 has no name, or no arguments by name/,
    ],
    [
      { question: "Q", answer: "A", tools: [{ type: "x" }] },
      /tools: tool 1 has no name .*: type\)/,
    ],
    [
      { prompt: [{ role: "user", content: [{ type: "image" }] }] },
      /must be a text, found \[\{"type":"image"\}\].*images and sound are not supported/,
    ],
    [{ prompt: [user(" ")] }, /prompt is empty/],
    [{ messages: [assistant("A")] }, /an assistant's message alone, without a prompt/],
    [
      { prompt: [user("Q"), assistant("A")], completion: [assistant("B")] },
      /the prompt ends with an assistant's message, and the completion is another one/,
    ],
    [
      { prompt: [user("Q")], completion: [user("B")] },
      /completion: expected messages that begin and end with an assistant's, .* the roles user/,
    ],
    [{ prompt: [user("Q")], chat_template_kwargs: "x" }, /chat_template_kwargs must be an object/],
    [{ prompt: 3.5, answer: true }, /answer: must be a text, a number/],
  ];
  for (const [row, message] of cases) {
    assert.throws(
      () => read(row),
      (error) => error instanceof UsageError && message.test(`${error.message} ${error.advice}`),
      String(message),
    );
  }
});

Deno.test("a column with texts and conversations is refused", () => {
  assert.throws(
    () => read({ prompt: "Q" }, { prompt: "R" }, { prompt: [user("S")] }),
    /f\.jsonl:3: prompt is a list of messages, and a text in f\.jsonl:1/,
  );
  assert.throws(
    () => read({ prompt: "Q", completion: [assistant("A")] }, { prompt: "Q", completion: "A" }),
    /f\.jsonl:2: completion is a text, and a list of messages in f\.jsonl:1/,
  );
});

/** Entries of public data sets: their columns, with a right and a wrong completion each. */
const PUBLIC: Record<string, { row: Row; question: string; right: string[]; wrong: string }> = {
  "openai/gsm8k": {
    row: { question: "Two and three?", answer: "2 + 3 = <<2+3=5>>5\n#### 5" },
    question: "Two and three?",
    right: ["So 5.\n#### 5", "<answer>5</answer>", "The answer is \\boxed{5}"],
    wrong: "#### 6",
  },
  "GSM8K in one line": {
    row: { question: "Two and three?", answer: "2 + 3 = 5 #### 5" },
    question: "Two and three?",
    right: ["So 5.\n#### 5", "<answer>5</answer>"],
    wrong: "#### 6",
  },
  "trl-lib/DeepMath-103K": {
    row: { prompt: [user("Half of a half?")], solution: "$\\frac{1}{4}$" },
    question: "Half of a half?",
    right: ["\\boxed{\\frac14}", "<answer>0.25</answer>"],
    wrong: "\\boxed{\\frac12}",
  },
  "zwhe99/DeepMath-103K": {
    row: {
      question: "Limit of 1/x?",
      final_answer: "0",
      difficulty: 4.5,
      topic: "Calculus",
      r1_solution_1: "It goes to zero. \\boxed{0}",
    },
    question: "Limit of 1/x?",
    right: ["\\boxed{0}", "<answer>0.0</answer>"],
    wrong: "\\boxed{1}",
  },
  "open-r1/OpenR1-Math-220k": {
    row: {
      problem: "Solve x + 1 = 3.",
      solution: "Take 1 away: \\boxed{2}.",
      answer: "2",
      uuid: "u",
      generations: ["<think></think>\\boxed{2}"],
      source: "amc",
      messages: [user("Solve x + 1 = 3."), assistant("2")],
    },
    question: "Solve x + 1 = 3.",
    right: ["x is \\boxed{2}", "<answer>2</answer>"],
    wrong: "\\boxed{3}",
  },
  "DigitalLearningGmbH/MATH-lighteval": {
    row: {
      problem: "Area?",
      level: "Level 1",
      type: "Geometry",
      solution: "Multiply: $2\\cdot 3=\\boxed{6}$.",
    },
    question: "Area?",
    right: ["\\boxed{6}", "<answer>6</answer>"],
    wrong: "\\boxed{5}",
  },
};

for (const [name, { row, question, right, wrong }] of Object.entries(PUBLIC)) {
  Deno.test(`rows of ${name} become problems with their answers`, async () => {
    const key = ["prompt", "question", "problem"].find((one) => one in row)!;
    // Other questions, so that some are left for training.
    const others = Array.from({ length: 20 }, (_, i) => ({
      ...row,
      [key]: key === "prompt" ? [user(`other ${i}`)] : `other ${i}`,
    }));
    const [entry] = await opened([row, ...others]);
    assert.equal(entry!.question, question);
    for (const text of right) assert.equal(scoreCompletion(text, entry!).score, 1, text);
    assert.equal(scoreCompletion(wrong, entry!).score, 0, wrong);
    const columns = Object.keys(row).filter((column) => typeof row[column] === "number");
    for (const column of columns) assert.equal(entry!.metadata[column], row[column]);
  });
}

Deno.test("verl's parquet keeps its system message, its prompt and its way to score", async () => {
  const path = goldenPath("data/formats/verl_gsm8k.parquet");
  const entries = entriesOf(await readRows([path]), path);
  assert.equal(entries.length, 3);
  for (const entry of entries) {
    assert.deepEqual(entry.messages!.map(({ role }) => role), ["system", "user"]);
    assert.equal(entry.messages![0]!.content, "You are a careful accountant.");
    assert.match(entry.question, /Write the result after "####"\.$/);
    assert.equal(scoreCompletion(`So it is.\n#### ${entry.answer}`, entry).score, 1);
    assert.equal(scoreCompletion("#### 1234567", entry).score, 0);
    assert.equal(entry.metadata["ability"], "math");
  }
});

Deno.test("JSON texts of conversations and of verl's truth are read, as tables have them", () => {
  const chat = [system("S"), user("Q")], reward_model = { style: "rule", ground_truth: "5" };
  const [entry] = read({
    prompt: JSON.stringify(chat, null, 1),
    reward_model: JSON.stringify(reward_model),
  });
  assert.deepEqual([entry!.messages, entry!.answer], [chat, "5"]);
  const [whole] = read({ messages: JSON.stringify([user("Q"), assistant("A")]) });
  assert.deepEqual([whole!.question, whole!.answer], ["Q", "A"]);
  // Other texts that look like it are texts.
  for (const text of ['[{"a": 1}]', '[{"role": ', "[1, 2]"]) {
    assert.deepEqual([read({ prompt: text })[0]!.question, read({ prompt: text })[0]!.messages], [
      text,
      undefined,
    ]);
  }
});

Deno.test("an answer is one text; any other truth of verl stays in its column for rewards", () => {
  const of = (row: Row) => read({ prompt: [user("Q")], ...row })[0]!;
  assert.equal(of({ answer: ["5"] }).answer, "5");
  assert.equal(of({ reward_model: { ground_truth: ["5"] } }).answer, "5");
  assert.throws(() => of({ answer: ["5", "five"] }), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /f\.jsonl:1: answer: is a list of 2 values, expected one text/);
    return true;
  });
  for (const ground_truth of [["5", "five"], { target: 24, numbers: [2, 12] }]) {
    const { answer, metadata } = of({ reward_model: { ground_truth } });
    assert.deepEqual([answer, metadata["reward_model"]], [null, { ground_truth }]);
  }
});

Deno.test("a parquet file of conversations is read as its JSON Lines are", async () => {
  const path = goldenPath("data/formats/trl_prompts.parquet");
  const rows = await readRows([path]), entries = entriesOf(rows, path);
  const lines = rows.map(({ columns }) => JSON.parse(JSON.stringify(columns)));
  assert.deepEqual(entries, read(...lines));
  assert.deepEqual(entries.map(({ messages }) => messages!.map(({ role }) => role).join(" ")), [
    "user",
    "system user assistant user",
    "user assistant",
  ]);
  assert.deepEqual(entries.map(({ answer }) => answer), [
    "$\\frac{1}{2}$",
    "$8$",
    "$3$",
  ]);
  assert.deepEqual(entries[0]!.templateVariables, { enable_thinking: false });
  assert.equal(scoreCompletion("\\boxed{8}", entries[1]!).score, 1);
});
