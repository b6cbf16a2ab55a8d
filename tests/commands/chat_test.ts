/** `rgx chat` in a pipe: history, adapters, sampling keys, mistakes, and Ctrl-C. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { SIZES, writeAdapter, writeBase } from "../../models/adapter_testing.ts";
import { argv } from "../command_line.ts";
import { assertClean, lines, type Refusal, refuses, rgx, spawnRgx, succeeds } from "../support.ts";
import { HAS_TERMINAL, rgxOnTerminal } from "../terminal.ts";

const TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]";
const ON_CPU = ["--device", "wasm", "--threads", "1", "--temperature", "0"];

/** Calls `work` in a folder with the model `base` and the adapters `one` and `two`. */
function withModel(work: (folder: string) => Promise<void>, maxPositions = 512): Promise<void> {
  return withFolder(async (folder) => {
    const config = { ...SIZES, maxPositions }, device = createReferenceDevice();
    await writeBase(config, folder);
    await Deno.writeTextFile(`${folder}/base/chat_template.jinja`, TEMPLATE);
    for (const name of ["one", "two"]) await writeAdapter(config, folder, device, { name });
    device.close();
    await work(folder);
  });
}

Deno.test("a chat answers as rgx generate does, keeps its history, and changes adapters", () =>
  withModel(async (cwd) => {
    const input = ["hi", "why?", "/adapter two", "/reset", "hi", "/adapter off", "/reset", "hi", ""]
      .join("\n");
    const flags = ["--adapter", "one=./one", "--adapter", "two=./two", "--max-new-tokens", "12"];
    const chat = await rgx(["chat", "base", ...flags, ...ON_CPU], { input, cwd });
    assertClean(chat);
    assert.equal(chat.code, 0, chat.err);
    const answers = lines(chat.out);
    assert.equal(answers.length, 4, chat.out);
    const generated = async (prompt: string, adapter: string[]) => {
      const args = argv`generate --model base ${adapter} ${ON_CPU} --max-new-tokens 12`;
      const { out, err } = await succeeds(args, { input: prompt, cwd });
      assert.notEqual(out, "", err);
      return lines(out)[0];
    };
    const first = "[user]hi[assistant]";
    assert.equal(answers[0], await generated(first, ["--adapter", "one"]));
    const second = `${first}${answers[0]}[user]why?[assistant]`;
    assert.equal(answers[1], await generated(second, ["--adapter", "one"]));
    assert.equal(answers[2], await generated(first, ["--adapter", "two"]));
    assert.equal(answers[3], await generated(first, []));
    assert.notEqual(answers[3], answers[0]);
    assert.match(chat.err, /with the adapter one[^]*with the adapter two[^]*without an adapter/);
  }));

Deno.test("a mistake in a chat is named, and the chat goes on", () =>
  withModel(async (cwd) => {
    const input = "/bogus\n/set top_p 7\n/set top-k x\n/set max_new_tokens 0\n" +
      "/set temprature 1\n/adapter nowhere\n/again\nhi\n";
    const chat = await rgx(["chat", "base", ...ON_CPU, "--max-new-tokens", "3"], { input, cwd });
    assertClean(chat);
    assert.equal(chat.code, 1);
    assert.equal(lines(chat.out).length, 1);
    const texts = [/\/bogus: no such command/, /top_p is 7, expected a number > 0/, /top_k is "x"/];
    texts.push(/max_new_tokens is 0, expected an integer above 0/, /did you mean temperature/);
    for (const text of [...texts, /nowhere/, /no answer yet/]) {
      assert.match(chat.err, text);
    }
    await refuses([[["chat", "nowhere"], /nowhere: no such model folder/]], { cwd });
  }));

Deno.test("SIGINT ends the answer and not the chat", () =>
  withModel(async (cwd) => {
    const child = spawnRgx(
      ["chat", "base", ...ON_CPU, "--max-new-tokens", "60000", "--max-model-len", "65536"],
      { cwd, stdin: "piped" },
    );
    const errors = new Response(child.stderr).text();
    const input = child.stdin.getWriter();
    await input.write(new TextEncoder().encode("hi\n/set max_new_tokens 3\nhi\n"));
    await input.close();
    let text = "";
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      if (text === "") child.kill("SIGINT");
      text += piece;
    }
    assert.equal((await child.status).code, 0, await errors);
    const [cut, next, ...more] = lines(text);
    assert.match(cut!, / …$/);
    assert.ok(next!.length > 0 && more.length === 0, text);
  }, 65536));

Deno.test("a pasted text of several lines is one message, which Enter sends", {
  ignore: !HAS_TERMINAL,
}, () =>
  withModel(async (cwd) => {
    const args = ["chat", "base", ...ON_CPU, "--max-new-tokens", "3"];
    const child = rgxOnTerminal(args, 80, { cwd, stdin: "piped", stdout: "piped" }).spawn();
    const keys = child.stdin.getWriter(), bytes = new TextEncoder();
    const typed = ["one\ntwo\nthree", "\r", "four\nfive\n", "/history\r", "/exit\r"];
    let text = "";
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += piece;
      // The next keys come with the next prompt, or when the pasted text is in the editor.
      const isReady = /three$/.test(text) || /> [^\n]*$/.test(text.slice(-40));
      if (isReady && typed.length > 0) {
        await keys.write(bytes.encode(typed.shift()!));
        text += "\n";
      }
    }
    assert.equal((await child.status).code, 0, text);
    const history = text.slice(text.lastIndexOf("/history"));
    const users = history.replaceAll("\r", "").match(/\[user\] [^[]*(?=\n\[assistant\])/g);
    assert.deepEqual(users, ["[user] one\ntwo\nthree", "[user] four\nfive"], text);
  }));

Deno.test("chat, generate and logprobs take their model as an argument and as a flag", () =>
  withModel(async (cwd) => {
    const asArgument = await rgx(["chat", "base", ...ON_CPU], { input: "hi\n", cwd });
    const asFlag = await succeeds(["chat", "--model", "base", ...ON_CPU], { input: "hi\n", cwd });
    assert.equal(asArgument.out, asFlag.out);
    const quiet = [...ON_CPU, "--quiet", "--max-new-tokens", "4"];
    const texts = [
      await rgx(["generate", "--model", "base", "--prompt", "hi", ...quiet], { cwd }),
      await rgx(["generate", "base", "--prompt", "hi", ...quiet], { cwd }),
      await rgx(["generate", "base", "-", ...quiet], { input: "hi", cwd }),
    ];
    assert.deepEqual(
      texts.map(({ code, out }) => [code, out]),
      texts.map(() => [0, texts[0]!.out]),
    );
    const none = ["chat", "generate", "logprobs"].map((command): Refusal => [
      [command],
      `error: name one model: rgx ${command} MODEL`,
    ]);
    await refuses(none, { cwd });
  }));
