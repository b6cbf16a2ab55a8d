import assert from "node:assert/strict";
import type { ChatMessage } from "../../core/chat_message.ts";
import { UsageError } from "../../core/errors.ts";
import { checkVariables, compileChatTemplate } from "./chat_template.ts";
import { formatTime } from "./jinja/globals.ts";

const chat: ChatMessage[] = [{ role: "user", content: "2+2?" }];

function render(
  template: string,
  messages: readonly ChatMessage[] = chat,
  variables: Record<string, unknown> = {},
): string {
  return compileChatTemplate(template, {}, "m/chat_template.jinja").render(messages, variables);
}

Deno.test("an assistant's thoughts have every name that templates read", () => {
  const template = "{% for m in messages %}{{ m.thinking }}|{{ m.reasoning_content }}|{% endfor %}";
  for (const name of ["reasoning_content", "thinking", "reasoning"]) {
    const thought = { role: "assistant", content: "4", [name]: "2 and 2" } as ChatMessage;
    assert.equal(render(template, [...chat, thought, ...chat]), "||2 and 2|2 and 2|||");
  }
});

Deno.test("an assistant's last message is continued, unless the template changes it", () => {
  const template = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}</s>{% endfor %}" +
    "{% if add_generation_prompt %}[assistant]{% endif %}";
  const upTo = (content: string) => render(template, [...chat, { role: "assistant", content }]);
  assert.equal(render(template), "[user]2+2?</s>[assistant]");
  assert.equal(upTo("It is "), "[user]2+2?</s>[assistant]It is");
  assert.equal(upTo(""), "[user]2+2?</s>[assistant]");
  const { render: to } = compileChatTemplate(template, {}, "t");
  const closed = [...chat, { role: "assistant", content: "4" }], ended = "[user]2+2?</s>";
  assert.equal(to(closed, {}, "message"), `${ended}[assistant]4</s>`);
  assert.equal(to(closed, {}, "answer"), `${ended}[assistant]4</s>[assistant]`);
  assert.equal(to(chat, {}, "message"), ended);
  assert.equal(to(closed, {}, "within"), to(closed));
  assert.throws(
    () => render("{{ messages[0].content }}", [...chat, { role: "assistant", content: "4" }]),
    /user, assistant\): the assistant's last message cannot be continued/,
  );
});

Deno.test("values for a template are those that it reads", () => {
  const { variables } = compileChatTemplate(
    "{% macro show(x, y=2) %}{{ x }}{{ y }}{% endmacro %}{% set ns = namespace(a=1) %}" +
      "{% if enable_thinking is defined and enable_thinking %}{{ show(messages[0].content) }}" +
      "{% endif %}{% for m in messages if m.role == mine %}{{ m.content | trim }}{{ loop.index }}" +
      "{% endfor %}{% if not date is defined %}{% set date = 'today' %}{% endif %}{{ date }}",
    {},
    "m",
  );
  assert.deepEqual([...variables].sort(), ["date", "enable_thinking", "messages", "mine"]);
  checkVariables({ enable_thinking: false, date: "x" }, variables, "k");
  const fails = (given: Record<string, unknown>, known: typeof variables | null, text: RegExp) =>
    assert.throws(
      () => checkVariables(given, known, "training.chat_template_kwargs"),
      (error) => error instanceof UsageError && text.test(`${error.message} ${error.advice}`),
    );
  fails(
    { enable_thinkng: false },
    variables,
    /kwargs\.enable_thinkng: .*did you mean "?enable_thinking.*reads: date, enable_thinking, mine/,
  );
  fails({ messages: [] }, variables, /rgx itself gives it/);
  fails({ enable_thinking: false }, null, /no chat template/);
  const date = "{% if not date is defined %}{% set date = 'today' %}{% endif %}{{ date }}";
  assert.deepEqual([render(date), render(date, chat, { date: "then" })], ["today", "then"]);
});

Deno.test("a template writes the time in English, as Python does", () => {
  const time = new Date(2026, 2, 7, 15, 4, 5);
  assert.equal(
    formatTime(time, "%d %b %Y, %A %B %H:%M:%S"),
    "07 Mar 2026, Saturday March 15:04:05",
  );
  assert.equal(formatTime(time, "%I %p %y %a %m %% %-d|%e"), "03 PM 26 Sat 03 % 7| 7");
  assert.equal(formatTime(time, "%F %T [%Z%z]|%%T"), "2026-03-07 15:04:05 []|%T");
  assert.throws(() => formatTime(time, "%q"), /%q is not supported/);
});
