import assert from "node:assert/strict";
import { Command } from "commander";
import { withFolder } from "../../core/testing.ts";
import { rgx, succeeds } from "../../tests/support.ts";
import { candidates } from "./complete.ts";

function program(): Command {
  const root = new Command("rgx");
  const train = root.command("train").description("train a model")
    .argument("<config>").argument("[overrides...]")
    .option("--device <name>", "where it computes").option("--force", "anew");
  train.command("twice").description("train two");
  root.command("secret", { hidden: true });
  root.command("tasks").command("show").argument("<name>");
  return root;
}

const words = (...line: string[]) => candidates(program(), line).map(({ word }) => word);

Deno.test("commands complete by their beginning, hidden ones do not", () => {
  assert.deepEqual(words(""), ["train", "tasks"]);
  assert.deepEqual(words("ta"), ["tasks"]);
  assert.deepEqual(words("s"), []);
  assert.deepEqual(words("tasks", ""), ["show"]);
  assert.deepEqual(candidates(program(), ["tr"]), [{ word: "train", what: "train a model" }]);
});

Deno.test("flags complete after a dash, and a flag's values after it", () => {
  assert.deepEqual(words("train", "--d"), ["--device"]);
  assert.deepEqual(words("train", "--device", "w"), ["webgpu", "wasm"]);
  assert.deepEqual(words("train", "--device=w"), ["--device=webgpu", "--device=wasm"]);
  assert.deepEqual(words("train", "--force", "quick"), ["quickstart"], "a flag without a value");
});

Deno.test("a config completes to embedded ones, sub-commands, files and folders", async () => {
  await withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/quiet`);
    for (const name of ["mine.yaml", "notes.txt"]) {
      await Deno.writeTextFile(`${folder}/${name}`, "");
    }
    assert.deepEqual(words("train", `${folder}/`), [`${folder}/mine.yaml`, `${folder}/quiet/`]);
    assert.deepEqual(words("train", `${folder}/none/`), []);
  });
  assert.deepEqual(words("train", "tw"), ["twice"]);
});

Deno.test("overrides complete to keys, and keys with few values to these", () => {
  assert.deepEqual(words("train", "quickstart", "training.lr_scheduler_t"), [
    "training.lr_scheduler_type=",
  ]);
  assert.deepEqual(words("train", "quickstart", "a=1", "+training.shuffle_d"), [
    "+training.shuffle_dataset=",
  ]);
  assert.deepEqual(words("train", "quickstart", "training.shuffle_dataset="), [
    "training.shuffle_dataset=true",
    "training.shuffle_dataset=false",
  ]);
  assert.deepEqual(words("train", "quickstart", "training.learning_rate="), []);
});

Deno.test("a task's name completes", () => {
  assert.deepEqual(words("tasks", "show", "chain_s"), ["chain_sum"]);
});

Deno.test("the script for bash completes in bash, also after = and with a key that goes on", {
  ignore: !(await hasBash()),
}, async () => {
  await withFolder(async (folder) => {
    const script = await succeeds(["completions", "bash"]);
    await Deno.writeTextFile(`${folder}/rgx.bash`, script.out);
    // A program that answers as rgx does, so that the test sees the words that it gets.
    const answer = 'printf "%s|" "$@" >> seen; ' +
      'printf "training.loss_type=grpo\\tx y\\ntraining.loss_type=dapo\\t\\n"';
    await Deno.writeTextFile(`${folder}/rgx`, `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
    const line = "./rgx train quickstart training.loss_type=";
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: [
        "-c",
        `. ./rgx.bash; COMP_LINE="${line}"; COMP_POINT=\${#COMP_LINE}; _rgx; ` +
        'printf "%s\\n" "${COMPREPLY[@]}"',
      ],
      cwd: folder,
    }).output();
    const text = new TextDecoder();
    assert.equal(text.decode(stdout), "grpo\ndapo\n", text.decode(stderr));
    assert.equal(
      await Deno.readTextFile(`${folder}/seen`),
      "__complete|--|train|quickstart|training.loss_type=|",
    );
  });
});

async function hasBash(): Promise<boolean> {
  try {
    return (await new Deno.Command("bash", { args: ["--version"], stdout: "null" }).output())
      .success;
  } catch {
    return false;
  }
}

Deno.test("an unknown shell is refused, and the hidden command says nothing where it knows nothing", async () => {
  const unknown = await rgx(["completions", "csh"]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.err, /bash, zsh, fish/);
  const nothing = await rgx(["__complete", "--", "nonsense", "--x"]);
  assert.deepEqual([nothing.code, nothing.out], [0, ""]);
  const found = await rgx(["__complete", "--", "rewards", "show", "cosine"]);
  assert.match(found.out, /^cosine_scaled\t\S/);
});
