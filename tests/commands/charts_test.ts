/** `rgx plot` and `rgx curves` through the command line: names, scales and axes. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { allTasksFile } from "../../bench/results/testing.ts";
import { refuses, rgx, succeeds } from "../support.ts";

const RUN = "runs/a/checkpoint-5", BASE = "org/base";

/** The texts of an SVG. */
async function textsIn(path: string): Promise<string> {
  const drawing = await Deno.readTextFile(path);
  return [...drawing.matchAll(/<text[^>]*>([^<]+)</g)].map(([, text]) => text).join("\n");
}

async function drawn(cwd: string, ...args: string[]): Promise<string> {
  await succeeds([...args, "--output", "x.svg"], { cwd });
  return await textsIn(`${cwd}/x.svg`);
}

test.inFolder("a chart has the names of the table, and a scale that fits or is full", async (cwd) => {
  const results = allTasksFile({
    gcd: { [RUN]: 4, [BASE]: 0 },
    lcm: { [RUN]: 1, [BASE]: 0 },
  });
  await Deno.writeTextFile(`${cwd}/results_1.json`, JSON.stringify(results));
  const plot = (...more: string[]) => drawn(cwd, "plot", "results_1.json", ...more);
  const plain = await plot();
  assert.match(plain, /^a\/checkpoint-5$/m);
  assert.match(plain, /^base$/m);
  assert.match(plain, /the scale ends at 20 %/);
  const full = await plot("--full-scale", "--rename", "base=Before", `${RUN}=After`);
  assert.match(full, /^Before$[^]*^100 %$/m);
  assert.match(full, /^After$/m);
  assert.doesNotMatch(full, /scale ends/);
  const { code } = await rgx(["plot", "results_1.json", "--output", "x.pdf"], { cwd });
  assert.equal(code, 0);
  const pdf = new TextDecoder("latin1").decode(await Deno.readFile(`${cwd}/x.pdf`));
  assert.match(pdf, /^%PDF-1\.7\n[^]*\/CIDFontType2[^]*%%EOF\n$/);
  const nothing = allTasksFile({ gcd: { [RUN]: 0, [BASE]: 0 } });
  await Deno.writeTextFile(`${cwd}/results_1.json`, JSON.stringify(nothing));
  assert.match(await plot(), /nothing was right/);
});

test.inFolder("curves take names of runs; every panel has a label, supervised steps begin at 0", async (cwd) => {
  for (const run of ["a", "b"]) {
    await Deno.mkdir(`${cwd}/runs/${run}`, { recursive: true });
    const line = (split: string, step: number) =>
      JSON.stringify({ step, split, reward: step / 9, loss: 9 - step, entropy: 1 / step });
    const lines = [5, 6, 7, 8].flatMap((step) => [line("sft", step), line("train", step)]);
    await Deno.writeTextFile(`${cwd}/runs/${run}/metrics.jsonl`, lines.join("\n"));
  }
  const args = ["curves", "runs/a", "runs/b", "--metrics", "reward,sft/loss,entropy"];
  const texts = await drawn(cwd, ...args, "--rename", "a=low", "runs/b=high rate");
  assert.match(texts, /^low$[^]*^high rate$|^high rate$[^]*^low$/m);
  assert.equal(texts.match(/^step$/gm)!.length, 2);
  assert.equal(texts.match(/^supervised step$/gm)!.length, 1);
  assert.match(texts, /^0$/m);
  const same = ["plot", ...args.slice(1), "--rename", "a=low", "runs/b=high rate"];
  assert.equal(await drawn(cwd, ...same), texts, "plot sees that they are runs");
  await refuses([
    [
      ["plot", "runs/a", "--full-scale"],
      "--full-scale: it is for charts of results, and these are",
    ],
    [[...args, "--rename", "c=low"], /--rename c=low: no .*"c"/],
  ], { cwd });
});
