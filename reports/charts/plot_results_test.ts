import assert from "node:assert/strict";
import { refusal, withFolder } from "../../core/testing.ts";
import { UsageError } from "../../core/errors.ts";
import { allTasksFile, modelResult, taskFile } from "../../bench/results/testing.ts";
import { type ResultFile, resultFileBytes } from "../../bench/results/result_file.ts";
import { type ChartData, gatherResults } from "./chart_data.ts";
import type { Figure } from "./style.ts";
import { textWidth } from "./font.ts";
import { sampleSize } from "./panel.ts";
import { plotResults } from "./plot_results.ts";
import { renderSvg } from "./render.ts";
import { resultsFigure } from "./results_figure.ts";

async function inFolder(
  files: Record<string, ResultFile>,
  body: (folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    for (const [name, file] of Object.entries(files)) {
      await Deno.writeFile(`${folder}/${name}`, resultFileBytes(file));
    }
    await body(folder);
  });
}

const chartData = (tasks: Parameters<typeof allTasksFile>[0]): ChartData =>
  gatherResults([{ path: "all.json", result: allTasksFile(tasks) }]);

/** All texts of a figure that lays itself out. */
function textsOf(figure: Figure): string[] {
  return figure.data.flatMap((trace) =>
    trace["type"] === "scatter" ? trace["text"] as string[] : []
  );
}

const isUsage = (message: RegExp) => refusal(message, UsageError);

Deno.test("one task gives a comparison, several a summary, each in a new PNG", () =>
  inFolder({
    "results_a.json": taskFile("a/b", { base: 10, tuned: 30 }),
    "results_c.json": taskFile("c", { base: 0, tuned: 50 }),
  }, async (folder) => {
    const one = await plotResults([`${folder}/results_a.json`]);
    assert.equal(one.kind, "comparison");
    assert.match(one.path.slice(folder.length), /^\/comparison_a_b_\d{8}_\d{6}\.png$/);
    const again = await plotResults([`${folder}/results_a.json`]);
    assert.notEqual(again.path, one.path);
    const all = await plotResults([folder], { rename: { tuned: "Tuned" } });
    assert.match(all.path.slice(folder.length), /^\/summary_all_tasks_\d{8}_\d{6}\.png$/);
    assert.deepEqual([all.kind, all.tasks, all.models], ["summary", ["a/b", "c"], [
      "base",
      "Tuned",
    ]]);
    await Deno.mkdir(`${folder}/linked`);
    await Deno.symlink(`${folder}/results_c.json`, `${folder}/linked/results_c.json`);
    const output = `${folder}/linked/x.svg`;
    assert.deepEqual((await plotResults([`${folder}/linked`], { output })).tasks, ["c"]);
    for (const { path } of [one, again, all]) {
      assert.deepEqual([...(await Deno.readFile(path)).subarray(1, 4)], [80, 78, 71]);
    }
  }));

Deno.test("an SVG and an HTML page have title and names; the page needs no other file", () =>
  inFolder({}, async (folder) => {
    const results = [allTasksFile({ a: { "<b>base": 10, tuned: 20 } })];
    const options = { title: 'Title </script> & "x"', rename: ["tuned=Fine-tuned"] };
    const svg = await plotResults(results, { ...options, output: `${folder}/x.svg` });
    const drawing = await Deno.readTextFile(svg.path);
    assert.match(drawing, />&#60;b>base</);
    assert.match(drawing, />Fine-tuned</);
    await plotResults(results, { ...options, output: `${folder}/x.html` });
    const page = await Deno.readTextFile(`${folder}/x.html`);
    assert.match(page, /<title>Title &lt;\/script&gt; &amp; "x"<\/title>/);
    assert.equal(page.match(/<\/script/g)?.length, 2);
    assert.doesNotMatch(page, /<(script|link|img)[^>]*(src|href)=/);
    assert.match(page, /Fine-tuned/);
  }));

Deno.test("a note names characters that a PNG cannot show", () =>
  inFolder({ "results_a.json": taskFile("a", { "模型 ü": 10 }) }, async (folder) => {
    const notes = async (ending: string) =>
      (await plotResults([folder], { output: `${folder}/chart.${ending}` })).notes;
    assert.deepEqual(await notes("png"), [
      "boxes stand for characters that the charts' font lacks: 模 型 (.svg and .html show them)",
    ]);
    assert.deepEqual([await notes("svg"), await notes("html")], [[], []]);
    const title = [..."一二三四五六七八九十百千"].join("");
    const { notes: many } = await plotResults([folder], { title });
    assert.match(many[0]!, /: 模 型 一 二 三 四 五 六 七 八 … \(/);
  }));

Deno.test("impossible options are refused before anything is read", async () => {
  await assert.rejects(plotResults(["none.json"], { output: "x.jpg" }), isUsage(/\.svg, \.pdf or/));
  await assert.rejects(plotResults(["none.json"]), isUsage(/none\.json: there is no such file/));
  await assert.rejects(plotResults([]), isUsage(/no result files/));
  await inFolder({}, async (folder) => {
    await assert.rejects(plotResults([folder]), isUsage(/there is no results_/));
    await Deno.mkdir(`${folder}/x.png`);
    const output = `${folder}/x.png`;
    await assert.rejects(plotResults(["none.json"], { output }), isUsage(/x\.png: it is a folder/));
  });
});

Deno.test("bars and intervals are where the numbers say", () => {
  const figure = resultsFigure(chartData({ a: { zero: 0, half: 25, all: 50 } }));
  const [bars] = figure.data as {
    x: number[];
    error_x: { array: number[]; arrayminus: number[] };
  }[];
  const scale = bars!.x[2]!; // 100 %
  const [zero, ...others] = bars!.x;
  assert.equal(zero, 5, "a bar of 0 % keeps a coloured mark");
  assert.deepEqual(others.map((x) => x / scale), [0.5, 1]);
  const { array, arrayminus } = bars!.error_x;
  assert.ok(
    (zero! + array[0]!) / scale > 0.07 && arrayminus[0] === zero,
    "0 of 50 may still be 7 %",
  );
  assert.ok(Math.abs(arrayminus[1]! - array[1]!) < 1e-9 * scale);
  assert.ok(arrayminus[2]! / scale > 0.07 && array[2] === 0);
  assert.ok(textsOf(figure).includes("0.0 %") && textsOf(figure).includes("[0.0, 7.1]"));
});

Deno.test("the average is over the tasks that all models have, and says so", () => {
  const whole = textsOf(resultsFigure(chartData({ a: { x: 10, y: 20 }, b: { x: 20, y: 40 } })));
  assert.ok(whole.includes("average of 2 tasks"));
  assert.ok(whole.includes("30.0 %") && whole.includes("60.0 %"));
  const partly = textsOf(
    resultsFigure(chartData({ a: { x: 10, y: 20 }, b: { x: 20 }, c: { x: 30, y: 30 } })),
  );
  assert.ok(
    partly.join(" ").replaceAll("<br>", " ").includes("average of the 2 tasks that all models"),
  );
  assert.ok(partly.includes("no result"));
  const one = textsOf(resultsFigure(chartData({ a: { x: 10, y: 20 }, b: { x: 20 }, c: { y: 1 } })));
  assert.ok(!one.some((text) => text.includes("average")), "over one task it says nothing new");
  const never = textsOf(resultsFigure(chartData({ a: { x: 10 }, b: { y: 20 } })));
  assert.ok(!never.some((text) => text.includes("average")));
});

Deno.test("n counts the answered problems, with several samples too", () => {
  const samples = { k: 2, problems: 50, pass_at: {}, avg_at_k: 0.5, majority_at_k: 0.5 };
  const of = (total: number) => ({ ...modelResult(0, total), num_examples: 8, samples });
  assert.equal(sampleSize([of(16), of(16)]), "n = 8 problems × 2 samples");
  assert.equal(sampleSize([of(16), of(2)]), "n = 1 to 8 problems × 2 samples");
  assert.equal(sampleSize([of(16), modelResult(1, 50)]), "n = 8 to 50 problems");
  assert.equal(sampleSize([modelResult(1, 50), modelResult(0, 0)]), "n = 50 problems");
  assert.equal(sampleSize([modelResult(0, 0)]), "n = 0");
});

Deno.test("a model without any result does not remove the average of the others", () => {
  const data = chartData({ a: { x: 10, y: 20, lost: 0 }, b: { x: 20, y: 40, lost: 0 } });
  for (const ofTask of data.results.values()) ofTask.set("lost", modelResult(0, 0));
  const texts = textsOf(resultsFigure(data));
  assert.ok(texts.includes("average of 2 tasks") && texts.includes("60.0 %"));
  assert.equal(texts.filter((text) => text === "no result").length, 3);
});

Deno.test("hover texts are wrapped, and an empty title takes no space", () => {
  const name = "/projects/somebody/experiments/".repeat(8), data = chartData({ a: { [name]: 10 } });
  const figure = resultsFigure(data);
  const [bars] = figure.data as { customdata: string[] }[];
  const lines = bars!.customdata[0]!.split("<br>");
  assert.ok(lines.every((line) => textWidth(line, 14) <= 500));
  assert.equal(lines.slice(0, -6).join(""), name);
  assert.ok(resultsFigure(data, " ").layout.height < figure.layout.height);
});

Deno.test("many models and tasks fit into the picture, and no name is cut", async () => {
  const models = Array.from(
    { length: 9 },
    (_, i) =>
      i % 5 === 0
        ? `/projects/somebody/experiments/a_long_name_${i}/checkpoint-${i}000`
        : `org/model-${i}`,
  );
  const counts = Object.fromEntries(models.map((name, i) => [name, i * 3]));
  const tasks = Array.from({ length: 7 }, (_, i) => [`task_number_${i}`, counts]);
  const data = chartData(Object.fromEntries(tasks));
  const figure = resultsFigure(data);
  const texts = textsOf(figure).map((text) => text.replaceAll("<br>", ""));
  for (const name of [...data.models, ...data.tasks]) assert.ok(texts.includes(name), name);
  const { width, height } = figure.layout;
  const svg = await renderSvg(figure);
  let seen = 0;
  const pattern =
    /<text x="([\d.]+)" y="([\d.]+)" style="([^"]*)" text-anchor="(\w+)"[^>]*>(.*?)<\/text>/g;
  for (const [, x, y, style, anchor, content] of svg.matchAll(pattern)) {
    const size = Number(/font-size: ([\d.]+)px/.exec(style!)![1]);
    for (const line of content!.split("</tspan>")) {
      const wide = textWidth(line.replaceAll(/<[^>]*>/g, ""), size);
      const left = Number(x) - (anchor === "end" ? wide : anchor === "middle" ? wide / 2 : 0);
      assert.ok(left >= 0 && left + wide <= width, `${line} at ${left}`);
    }
    assert.ok(Number(y) > 0 && Number(y) < height, content);
    seen++;
  }
  assert.ok(seen > 9 * 7, `${seen} texts`);
});

Deno.test("the scale ends where the data end, and the subtitle says so", () => {
  const small = chartData({ a: { x: 1, y: 4 } });
  const texts = textsOf(resultsFigure(small));
  assert.ok(texts.includes("20 %") && texts.includes("5"), texts.join());
  assert.match(texts.join(" "), /the scale ends at 20 %/);
  const full = textsOf(resultsFigure(small, undefined, true));
  assert.ok(full.includes("100 %"));
  assert.doesNotMatch(full.join(" "), /scale ends/);
  const none = textsOf(resultsFigure(chartData({ a: { x: 0, y: 0 }, b: { x: 0, y: 0 } })));
  assert.match(none.join(" "), /nothing was right/);
  const unasked = chartData({ a: { x: 0, y: 0 } });
  for (const ofTask of unasked.results.values()) {
    for (const [model, result] of ofTask) ofTask.set(model, { ...result, total: 0 });
  }
  assert.doesNotMatch(textsOf(resultsFigure(unasked)).join(" "), /nothing was right/);
});
