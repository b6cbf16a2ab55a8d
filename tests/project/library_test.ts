/** `mod.ts` as a program uses it. */
import assert from "node:assert/strict";
import { type ConfigOverrides, createDataset, RgxError, SingleTurnEnv, train } from "../../mod.ts";
import { runCommand } from "../../core/machine/run_command.ts";
import { withFolder } from "../../core/testing.ts";
import settings from "../../deno.json" with { type: "json" };
import { buildPackage } from "../../tools/package/build.ts";
import { namesIn, root, runs } from "../support.ts";

Deno.test("every export has a comment, and every function is in an example that is run", async () => {
  const { out } = await runs([Deno.execPath(), "doc", "--json", "mod.ts"], { cwd: root.pathname });
  // Old versions of Deno print a list of symbols; new ones a list of files with symbols.
  const { nodes } = JSON.parse(out);
  const symbols: Symbol[] = Array.isArray(nodes)
    ? nodes
    : Object.values(nodes as Record<string, { symbols: Symbol[] }>).flatMap((file) => file.symbols);
  assert.ok(symbols.length > 80, `${symbols.length} symbols`);
  const bare = symbols.filter(({ jsDoc, declarations = [{ ...jsDoc && { jsDoc } }] }) =>
    !declarations.some((declaration) => declaration.jsDoc?.doc)
  );
  assert.deepEqual(bare.map(({ name }) => name).filter((name) => name !== ""), []);

  const sections = [...Deno.readDirSync(new URL("library", root))].map(({ name }) =>
    `library/${name}`
  );
  const pages = [...sections, "docs/library.md"].map((path) =>
    Deno.readTextFileSync(new URL(path, root))
  );
  assert.ok(sections.every((_, i) => / @module\n/.test(pages[i]!)));
  const examples = pages.flatMap((text) =>
    [...text.matchAll(/```ts\n([^]*?)```/g)].map((match) => match[1]!)
  ).join("");
  // A class of errors is not called by a program.
  const called = Object.entries(await import("../../mod.ts")).filter(([, value]) =>
    typeof value === "function" && !(value.prototype instanceof Error)
  );
  assert.ok(called.length > 50, `${called.length} functions`);
  const unused = called.filter(([name]) => !new RegExp(`\\b${name}\\b`).test(examples));
  assert.deepEqual(unused.map(([name]) => name), []);
});

Deno.test("every public member has a comment; what its type names is exported, or @internal", async () => {
  // The package has the types of the configuration written out, with the meaning of each key.
  const { out, err } = await withFolder(async (cwd) => {
    await buildPackage(`${cwd}/package`);
    const lint = [Deno.execPath(), "doc", "--lint", "package/mod.ts"];
    return (await runCommand(lint, { cwd, env: { NO_COLOR: "1" } }))!;
  });
  const said = `${out}\n${err}`;
  assert.match(said, /Checked 1 file|documentation lint error/, "it has looked");
  const found = [...said.matchAll(/^error\[(.*)\].*\n *--> (.*)/gm)].map((
    [, what, where],
  ) => [what, where]);
  // Deno before 2.9 does not see that a method has the comment of the interface.
  const isOld = Number(Deno.version.deno.split(".")[1]) < 9;
  assert.deepEqual(found.filter(([what]) => !(isOld && what === "missing-jsdoc")), []);
});

Deno.test("the module of answers and that of statistics load no task", async () => {
  for (const section of ["answers", "statistics"]) {
    const info = [Deno.execPath(), "info", "--json", `library/${section}.ts`];
    const { modules } = JSON.parse((await runs(info, { cwd: root.pathname })).out);
    const paths = modules.map(({ specifier }: { specifier: string }) => specifier);
    assert.ok(paths.length > 20, `${paths.length} modules`);
    const tasks = paths.filter((path: string) => path.includes("/tasks/categories/"));
    assert.deepEqual(tasks, [], section);
  }
});

Deno.test("the documentation of the library begins with its sections, and each is an export", async () => {
  const { out } = await runs([Deno.execPath(), "doc", "mod.ts"], { cwd: root.pathname });
  const head = out.split("Defined in")[0]!;
  const shown = [...head.matchAll(/@rgx\/rgx\/(\w+)/g)].map(([, name]) => name!);
  const exported = Object.keys(settings.exports).map((path) => path.slice(2));
  assert.deepEqual(shown.toSorted(), exported.filter((name) => !["", "cli"].includes(name)).sort());
});

interface Symbol {
  name: string;
  jsDoc?: { doc?: string };
  declarations?: { jsDoc?: { doc?: string } }[];
}

Deno.test("a run, an error and a stop neither print anything nor end the process", async () => {
  const loud: string[] = [], folder = await Deno.makeTempDir();
  const restore: (() => void)[] = [];
  const watch = <T extends object, K extends keyof T>(object: T, name: K) => {
    const before = object[name];
    object[name] = ((...values: unknown[]) => {
      loud.push(`${String(name)}: ${values.join(" ")}`);
    }) as T[K];
    restore.push(() => object[name] = before);
  };
  for (const name of ["log", "info", "warn", "error", "debug"] as const) watch(console, name);
  for (const stream of [Deno.stdout, Deno.stderr]) {
    watch(stream, "write");
    watch(stream, "writeSync");
  }
  watch(Deno as { exit: unknown }, "exit");
  const overrides: ConfigOverrides = {
    model: { init: { hidden_size: 32, intermediate_size: 48 } },
    sft: { max_steps: 2 },
    eval: { num_examples: 4 },
    training: {
      max_steps: 12,
      logging_steps: 1,
      per_device_train_batch_size: 8,
      num_generations: 4,
      output_dir: `${folder}/run`,
    },
    logging: { report_to: "tensorboard" },
  };
  let calls = 0;
  const fails = () => {
    if (calls++ % 2 === 0) throw new Error("not today");
    return 0;
  };
  const dataset = createDataset("spell_backward", { seed: 1, size: 300, max_word_len: 5 });
  const env = new SingleTurnEnv({ dataset, rewards: ["correctness", fails] });
  const controller = new AbortController(), { signal } = controller;
  const said = { warning: 0, advice: 0 };
  try {
    const summary = await train({
      config: "quickstart",
      overrides,
      env,
      signal,
      device: "wasm",
      threads: 1,
      on: {
        step: ({ phase, step }) => phase === "grpo" && step === 8 && controller.abort(),
        warning: () => said.warning++,
        advice: () => said.advice++,
      },
    });
    assert.equal(summary.status, "stopped");
    // There were events that a command would print.
    assert.ok(said.warning > 0 && said.advice > 0, JSON.stringify(said));
    const files = namesIn(`${folder}/run`);
    assert.ok(files.includes("runs"), `TensorBoard's events are missing: ${files.join(" ")}`);
    const again = train({ config: "quickstart", overrides, env, device: "wasm", threads: 1 });
    await assert.rejects(again, (error) => error instanceof RgxError);
  } finally {
    restore.forEach((undo) => undo());
    await Deno.remove(folder, { recursive: true });
  }
  assert.deepEqual(loud, []);
});
