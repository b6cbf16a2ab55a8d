import assert from "node:assert/strict";
import { refusal, test } from "../../core/testing.ts";
import { UsageError } from "../../core/errors.ts";
import { curveLines, explanation, extremes, runningMean, valueAxis } from "./curves.ts";
import { chooseMetrics, curvesFigure, plotCurves } from "./curves.ts";
import { textWidth } from "./font.ts";
import { renderSvg } from "./render.ts";
import { parseMetrics, readRuns } from "./run_metrics.ts";

const line = (value: unknown) => JSON.stringify(value) + "\n";

/** The metrics of a run of 60 steps with a warm start and two evaluations. */
function metricsText(gain = 0.01): string {
  let text = line({ step: 1, split: "sft", loss: 3, epoch: 0 });
  const evaluation = (step: number, accuracy: number) =>
    line({
      step,
      split: "eval",
      eval_accuracy: accuracy,
      eval_ci95: [accuracy - 0.1, accuracy + 0.1],
    });
  text += evaluation(0, 0.2);
  for (let step = 1; step <= 60; step++) {
    text += line({ step, epoch: step / 9, time: "x", split: "train", reward: gain * step, kl: 0 });
  }
  return text + line({ step: 60, event: "stop" }) + evaluation(60, 0.7) +
    line({ step: 60, split: "final", train_loss: 1 });
}

Deno.test("metrics are read by name and split; events and final sums are ignored", () => {
  const series = parseMetrics(metricsText(), "m");
  assert.deepEqual([...series.keys()].sort(), ["eval_accuracy", "kl", "reward", "sft/loss"]);
  assert.equal(series.get("reward")!.length, 60);
  assert.deepEqual(series.get("eval_accuracy")![1], {
    step: 60,
    value: 0.7,
    ci95: [0.7 - 0.1, 0.7 + 0.1],
  });
});

Deno.test("a last line that is being written is ignored, a damaged line is an error", () => {
  const text = metricsText() + '{"step":61,"split":"train","rew';
  assert.equal(parseMetrics(text, "m").get("reward")!.length, 60);
  assert.equal(
    parseMetrics(metricsText() + '{"step":61,"split":"train","reward":1}', "m")
      .get("reward")!.length,
    61,
    "a whole line that an editor has left without its end",
  );
  assert.throws(
    () => parseMetrics("null\n{}\n", "runs/m.jsonl"),
    refusal(/^runs\/m\.jsonl:1: expected an object/),
  );
  assert.throws(
    () => parseMetrics('{"step":1,"split":"train","a":1}\nrubbish\n', "runs/m.jsonl"),
    refusal(/^runs\/m\.jsonl:2: not/),
  );
});

Deno.test("the default metrics are those of the run that are not always 0", () => {
  const runs = [{ name: "a", series: parseMetrics(metricsText(), "m") }];
  assert.deepEqual(chooseMetrics(runs, undefined), ["reward", "eval_accuracy", "sft/loss"]);
  assert.deepEqual(chooseMetrics(runs, ["kl", "kl"]), ["kl"]);
  assert.throws(
    () => chooseMetrics(runs, ["rewards"]),
    refusal(/did you mean reward\?/, UsageError),
  );
  assert.throws(() => chooseMetrics([{ name: "a", series: new Map() }], undefined), UsageError);
});

Deno.test("a running mean uses the available values at both ends", () => {
  assert.deepEqual(runningMean([1, 2, 3, 4, 5], 2), [2, 2.5, 3, 3.5, 4]);
  assert.deepEqual(runningMean([0, 3, 0], 1), [1.5, 1, 1.5]);
});

Deno.test("a running mean of equal values is exactly that value", () => {
  const values = Array.from({ length: 50 }, () => 0.123456789);
  assert.deepEqual(runningMean(values, 2), values);
  values[10] = 1e30;
  assert.deepEqual(runningMean(values, 2).slice(13), values.slice(13));
  assert.deepEqual(runningMean([1, 2, 3, 4, 5], 1, 2), [1.5, 3, 4.5]);
});

Deno.test("a very long run is drawn with few points, and keeps its peaks", () => {
  const points = Array.from(
    { length: 5001 },
    (_, step) => ({ step, value: step === 3001 ? 9 : 0 }),
  );
  const [thin, thick] = curveLines("a", [0, 1], points, "", [0, 5001]) as {
    x: number[];
    y: number[];
  }[];
  assert.ok(thin!.x.length <= 1500 && thin!.y[thin!.x.indexOf(3001)] === 9);
  assert.equal(thick!.x.length, thick!.y.length);
  const rising = [1, 2, 3, 4, 5].map((value) => ({ step: value, value }));
  assert.deepEqual(extremes(rising, 3).map(({ step }) => step), [1, 3, 4, 5]);
  const falling = rising.map(({ step }) => ({ step, value: -step }));
  assert.deepEqual(extremes(falling, 3).map(({ step }) => step), [1, 3, 4, 5]);
});

Deno.test("equal values are in the middle of a scale of their size", () => {
  const axis = (metric: string, ...values: number[]) => {
    const points = values.map((value, i) => ({ step: i, value }));
    return valueAxis([{ name: "a", series: new Map([[metric, points]]) }], metric)["range"];
  };
  assert.deepEqual(axis("lr", 2e-6, 2e-6), [1e-6, 3e-6]);
  assert.deepEqual(axis("loss", 0, 0), [-1, 1]);
  assert.deepEqual(axis("loss", -4, -4), [-6, -2]);
  assert.ok(axis("loss", 0.1, 0.1 + 1e-9), "what differs by rounding is the same");
  assert.deepEqual(axis("eval_accuracy", 1), [0, 1.05]);
  assert.equal(axis("loss", 1, 2), undefined);
});

Deno.test("evaluations of several runs at one step are side by side", () => {
  const runs = ["a", "b", "c"].map((name) => ({ name, series: parseMetrics(metricsText(), "m") }));
  const { data, layout } = curvesFigure(runs, ["eval_accuracy"], "t");
  const traces = data as { x: number[]; customdata: number[][] }[];
  assert.deepEqual(traces.map(({ customdata }) => customdata.map(([step]) => step)), [
    [0, 60],
    [0, 60],
    [0, 60],
  ]);
  const [first, second, third] = traces.map(({ x }) => x[0]!) as [number, number, number];
  const [low, high] = (layout["xaxis"] as { range: [number, number] }).range;
  assert.ok(low < first && first < second && second === 0 && third === -first && high > 60 + third);
  const alone = curvesFigure(runs.slice(1, 2), ["eval_accuracy"], "t").data as typeof traces;
  assert.deepEqual(alone[0]!.x, [0, 60]);
});

Deno.test("evaluations have intervals, however many there are", () => {
  const points = Array.from({ length: 60 }, (_, step) => ({
    step,
    value: 0.5,
    ci95: [0.4, 0.6] as const,
  }));
  const runs = [{ name: "a", series: new Map([["eval_accuracy", points]]) }];
  const { data } = curvesFigure(runs, ["eval_accuracy"], "t");
  assert.equal(data.length, 1);
  assert.equal((data[0] as { error_y: { array: number[] } }).error_y.array.length, 60);
  assert.equal(
    explanation(runs, ["eval_accuracy"]),
    "Points with bars: evaluations with 95 % intervals.",
  );
});

Deno.test("every run is in the legend once, and panels share the range of steps", () => {
  const runs = ["a", "b"].map((name, i) => ({
    name,
    series: parseMetrics(metricsText(0.01 * (i + 1)), "m"),
  }));
  const { data, layout } = curvesFigure(runs, ["reward", "eval_accuracy"], "t");
  const inLegend = data.filter((trace) => trace["showlegend"] === true);
  assert.deepEqual(inLegend.map((trace) => trace["name"]), ["a", "b"]);
  const range = (axis: string) => (layout[axis] as { range: [number, number] }).range;
  assert.deepEqual(range("xaxis"), range("xaxis2"));
  assert.ok(range("xaxis")[0] < 0 && range("xaxis")[1] > 60);
});

Deno.test("a legend of many runs is completely visible above the panels", async () => {
  const points = [1, 2].map((step) => ({ step, value: step }));
  const runs = Array.from({ length: 31 }, (_, i) => ({
    name: `a_run_with_the_learning_rate_number_${i}`,
    series: new Map([["reward", points]]),
  }));
  const figure = curvesFigure(runs, ["reward"], "t"), { width, height } = figure.layout;
  const svg = await renderSvg(figure), legend = svg.slice(svg.indexOf('class="legend"'));
  const [, left, top] = /translate\(([\d.]+),([\d.]+)\)/.exec(legend)!.map(Number);
  const shown = Number(/class="bg"[^>]*? height="([\d.]+)"/.exec(legend)![1]);
  const places = [...legend.matchAll(/class="groups" transform="translate\(([\d.]+),([\d.]+)\)/g)]
    .map(([, x, y]) => [Number(x), Number(y)] as const);
  assert.equal(places.length, 30, "all but the first, which is not moved");
  const right = left! + 40 + textWidth(runs.at(-1)!.name, 15);
  const [, panelTop] = (figure.layout["yaxis"] as { domain: [number, number] }).domain;
  for (const [x, y] of places) {
    assert.ok(right + x <= width && y + 20 < shown, `${x}, ${y}`);
    assert.ok(top! + y + 20 < (1 - panelTop) * height, `${y}`);
  }
});

Deno.test("names of metrics are within their panels, and a title begins at the left", () => {
  const metrics = ["reward", `rewards/${"check_answer_".repeat(9)}/mean`];
  const points = [1, 2].map((step) => ({ step, value: step }));
  const runs = [{ name: "a", series: new Map(metrics.map((name) => [name, points])) }];
  for (const width of [390, 1120]) {
    const { layout } = curvesFigure(runs, metrics, "step", width);
    const notes = layout["annotations"] as { text: string; x: number; xanchor: string }[];
    assert.equal(notes[0]!.xanchor, "left");
    const [, end] = (layout["xaxis2"] as { domain: [number, number] }).domain;
    const { text, x } = notes.find((note) => note.text.includes("check"))!;
    assert.equal(text.replaceAll("<br>", ""), metrics[1]);
    for (const line of text.split("<br>")) {
      assert.ok(x * width + textWidth(line, 16) <= end * width, line);
    }
  }
});

Deno.test("a narrow figure has its panels below each other, with the same data", () => {
  const runs = [{ name: "a", series: parseMetrics(metricsText(), "m") }];
  const drawn = (width?: number) => curvesFigure(runs, ["reward", "eval_accuracy"], "t", width);
  const domains = ({ layout }: ReturnType<typeof drawn>, axis: string) =>
    [axis, `${axis}2`].map((name) => (layout[name] as { domain: [number, number] }).domain);
  const wide = drawn(), phone = drawn(390);
  assert.deepEqual([phone.layout.width, phone.data], [390, wide.data]);
  assert.notDeepEqual(domains(wide, "xaxis")[0], domains(wide, "xaxis")[1]);
  assert.deepEqual(domains(wide, "yaxis")[0], domains(wide, "yaxis")[1]);
  assert.deepEqual(domains(phone, "xaxis")[0], domains(phone, "xaxis")[1]);
  assert.ok(domains(phone, "yaxis")[0]![0] > domains(phone, "yaxis")[1]![1]);
});

test.inFolder("curves become a picture, by default in the run's folder, of several runs in the current one", async (root) => {
  for (const name of ["x/run", "y/run"]) {
    await Deno.mkdir(`${root}/${name}`, { recursive: true });
    await Deno.writeTextFile(`${root}/${name}/metrics.jsonl`, metricsText());
  }
  await Deno.writeTextFile(`${root}/empty.jsonl`, line({ step: 1, split: "train", other: 1 }));
  const metrics = ["reward"];
  const alone = await plotCurves([`${root}/x/run/metrics.jsonl`], { metrics });
  assert.equal(alone.path, `${root}/x/run/curves.png`);
  const before = Deno.cwd();
  Deno.chdir(root);
  const drawn = await plotCurves(["x/run", "y/run/metrics.jsonl"], { metrics })
    .finally(() => Deno.chdir(before));
  assert.equal(drawn.path, "curves.png");
  assert.deepEqual(drawn.runs, ["x/run", "y/run"]);
  await Deno.mkdir(`${root}/y/other`);
  await Deno.copyFile(`${root}/y/run/metrics.jsonl`, `${root}/y/other/metrics.jsonl`);
  const named = await readRuns(["x/run", "y/run", "y/other"].map((name) => `${root}/${name}`));
  assert.deepEqual(named.map(({ name }) => name), ["x/run", "y/run", "y/other"]);
  assert.ok((await Deno.stat(`${root}/curves.png`)).size > 10_000);
  const { notes } = await plotCurves([`${root}/x/run/`, `${root}/empty.jsonl`], {
    metrics,
    output: `${root}/c.svg`,
  });
  assert.deepEqual(notes, ["empty.jsonl has none of the metrics that are drawn"]);
  const again = await readRuns([
    `${root}/x/run`,
    `${root}/x/run/metrics.jsonl`,
    `${root}/x/run/`,
  ]);
  assert.deepEqual(again.map(({ name }) => name), ["run"]);
  await Deno.mkdir(`${root}/x/run/checkpoint-3`);
  for (const folder of [`${root}/x`, `${root}/x/run/checkpoint-3`]) {
    await assert.rejects(
      readRuns([folder]),
      (error: unknown) =>
        error instanceof UsageError && /holds no metrics\.jsonl/.test(error.message) &&
        error.advice === `runs: ${root}/x/run`,
    );
  }
});
