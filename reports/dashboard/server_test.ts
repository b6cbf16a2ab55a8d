import assert from "node:assert/strict";
import type { ConfigComparison, CurvesOfRun, Overview, RunPage } from "./data_routes.ts";
import type { BenchmarkDetails, ExamplePage } from "./reading/benchmarks.ts";
import type { RunInfo } from "./reading/run_state.ts";
import {
  ask,
  metricsLine,
  send,
  TOKEN,
  withDashboard,
  writeCompletions,
  writeResults,
  writeRun,
} from "./testing.ts";
import { goldenPath } from "../../tests/golden.ts";
import { copyFolder } from "../../training/testing.ts";
import type { CompletionTokens } from "./reading/tokens.ts";
import { pageFile } from "./page.ts";
import { startDashboard } from "./server.ts";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";

interface Refused {
  problem: string;
}

const write = async (folder: string) => {
  await writeRun(`${folder}/one`, 20);
  await writeRun(`${folder}/two`, 30);
  await writeResults(`${folder}/results`);
};

Deno.test("without the token nothing is told, and nobody may write", () =>
  withDashboard(write, async ({ url }) => {
    const { origin } = new URL(url);
    const status = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${origin}${path}`, init);
      const text = await response.text();
      return [response.status, text] as const;
    };
    for (const path of ["/", "/api/overview", "/api/events", "/?token=", `/?token=${TOKEN}x`]) {
      const [code, text] = await status(path);
      assert.equal(code, 401, path);
      assert.match(text, /needs its token/);
    }
    assert.match((await status(`/?token=${TOKEN}`))[1], /<title>rgx dashboard/);
    assert.equal((await status(`/api/overview?token=${TOKEN}`, { method: "POST" }))[0], 400);
    assert.equal((await status("/app/../server.ts"))[0], 401);
    assert.equal((await status("/app/%2e%2e%2fserver.ts"))[0], 404);
    const foreign = { headers: { origin: "http://evil.example" } };
    assert.equal((await status(`/?token=${TOKEN}`, foreign))[0], 403);
    const page = await fetch(url);
    assert.match(page.headers.get("content-security-policy")!, /default-src 'none'/);
    assert.doesNotMatch(await page.text(), /https?:/);
  }));

Deno.test("the list, curves, configurations and results are answered", () =>
  withDashboard(write, async ({ url }) => {
    const { runs, benchmarks } = await ask<Overview>(url, "overview");
    assert.deepEqual(runs.map(({ name, step }) => [name, step]), [["one", 20], ["two", 30]]);
    const [one, two] = runs.map(({ id }) => id);
    const curves = await ask<CurvesOfRun>(url, `curves?run=${two}&metrics=reward,none&points=1`);
    assert.deepEqual(Object.keys(curves.curves), ["reward"]);
    assert.ok(curves.complete && curves.metrics.includes("eval_accuracy"));
    const { keys } = await ask<ConfigComparison>(url, `config?run=${one}&other=${two}`);
    assert.deepEqual(keys.filter(({ before, after }) => before !== after), [
      { key: "training.seed", before: "20", after: "30" },
    ]);
    const details = await ask<RunPage>(url, `run?run=${one}`);
    assert.deepEqual([details.sessions.length, details.jobSecondsLeft], [2, null]);
    const id = benchmarks[0]!.id;
    const result = await ask<BenchmarkDetails>(url, `benchmark?id=${id}`);
    const { models, comparisons } = result.tasks[0]!;
    assert.deepEqual(Object.values(models).map(({ accuracy }) => accuracy), [0.25, 0.75]);
    assert.equal(comparisons[0]!.p_value, 0.5);
    const examples = (more: string) =>
      ask<ExamplePage>(url, `examples?id=${id}&task=spell_backward&${more}`);
    assert.equal((await examples("")).total, 4);
    assert.equal((await examples("model=first&outcome=wrong")).total, 3);
    const page = await examples("outcome=right&text=QUESTION&limit=1&offset=1");
    assert.deepEqual([page.total, page.next], [3, 2]);
    assert.deepEqual(page.rows[0]!.answers.map(({ model, score }) => [model, score]), [
      ["first", 0],
      ["second", 1],
    ]);
  }));

Deno.test("questions about what is not there are answered with a sentence", () =>
  withDashboard(write, async ({ url }) => {
    for (const path of ["run?run=x", "curves?run=../one", "benchmark?id=x", "config?run="]) {
      const [status, { problem }] = await send<Refused>(url, path);
      assert.equal(status, 400);
      assert.match(problem, /there (is|are) no such/);
    }
  }));

Deno.test({
  name: "links and pipes in a run are not read, and what they lead to is not shown",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withDashboard(async (folder) => {
      await Deno.writeTextFile(`${folder}/secret`, "a: secret\n");
      const put = async (name: string, file: string, text: string | null = null) => {
        await writeRun(`${folder}/${name}`, 3, { [file]: text });
        return `${folder}/${name}/${file}`;
      };
      await Deno.symlink(`${folder}/secret`, await put("linked", "config.yaml"));
      await Deno.symlink(`${folder}/secret`, await put("linked metrics", "metrics.jsonl"));
      for (const file of ["run.json", "metrics.jsonl", "run.log"]) {
        await new Deno.Command("mkfifo", { args: [await put(`pipe ${file}`, file)] }).output();
      }
      await put("large", "config.yaml", `a: ${" ".repeat(2 ** 24)}1`);
      await writeCompletions(`${folder}/elsewhere`, 1);
      await Deno.symlink(`${folder}/elsewhere/completions`, await put("moved", "completions"));
    }, async ({ url }) => {
      const get = async (path: string) => JSON.stringify(await ask(url, path));
      const { runs } = await ask<Overview>(url, "overview");
      assert.equal(runs.length, 7);
      for (const { id, name, problems } of runs) {
        for (const path of ["run", "config", "completions", "curves&metrics=loss"]) {
          const [route, more = ""] = path.split("&");
          const text = await get(`${route}?run=${id}&${more}`);
          assert.doesNotMatch(text, /secret|internal error|bold/, `${name}: ${path}`);
        }
        if (name === "linked" || name === "pipe run.json") {
          assert.match(problems.join(), /is a link, or no plain file/);
        }
        if (name === "large") assert.match(problems.join(), /bytes are more than/);
      }
      const { id } = runs.find(({ name }) => name === "moved")!;
      const [, { problem }] = await send<Refused>(url, `tokens?run=${id}&step=1&row=0`);
      assert.match(problem, /no tokens of this completion/);
      const missing = await fetch(new URL("/app/constructor", url));
      assert.equal(missing.status, 404);
      await missing.body?.cancel();
    }),
});

Deno.test("result files that are cut or of a newer format are told", () =>
  withDashboard(async (folder) => {
    await Deno.writeTextFile(`${folder}/results_a_20260101_000000.json`, '{"format": 1, "ki');
    await Deno.writeTextFile(`${folder}/results_b_20260101_000000.json`, '{"format": 7}');
  }, async ({ url }) => {
    const { benchmarks } = await ask<Overview>(url, "overview");
    const problems = await Promise.all(
      benchmarks.map(async ({ id }) =>
        (await ask<BenchmarkDetails>(url, `benchmark?id=${id}`)).problem
      ),
    );
    assert.match(problems[0]!, /not valid JSON/);
    assert.match(problems[1]!, /result format 7, this version reads format 1/);
  }));

Deno.test("the stream of events tells which runs have changed", () =>
  withDashboard(write, async ({ url }, folder) => {
    const { origin } = new URL(url);
    const { runs } = await ask<Overview>(url, "overview");
    const control = new AbortController();
    const response = await fetch(`${origin}/api/events?token=${TOKEN}`, { signal: control.signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (says: RegExp) => {
      while (!says.test(text)) {
        const { value, done } = await reader.read();
        assert.ok(!done, "the stream has ended");
        text += value;
      }
    };
    await until(/event: hello/);
    await Deno.writeTextFile(`${folder}/two/metrics.jsonl`, metricsLine(31), { append: true });
    await until(new RegExp(`"runs":\\["${runs[1]!.id}"\\]`));
    await writeRun(`${folder}/three`, 2);
    await until(/"list":true/);
    control.abort();
    await reader.cancel().catch(() => {});
    const curves = await ask<CurvesOfRun>(url, `curves?run=${runs[1]!.id}&metrics=reward`);
    assert.equal(curves.curves["reward"]!.steps.at(-1), 31);
  }));

Deno.test("a dashboard changes no file", () =>
  withDashboard(write, async ({ url }, folder) => {
    const look = async (path = folder): Promise<string[]> => {
      const found: string[] = [];
      for await (const { name, isDirectory } of Deno.readDir(path)) {
        const { size, mtime } = await Deno.stat(`${path}/${name}`);
        found.push(`${path}/${name} ${size} ${mtime?.getTime()}`);
        if (isDirectory) found.push(...await look(`${path}/${name}`));
      }
      return found.sort();
    };
    const before = await look();
    const { runs } = await ask<Overview>(url, "overview");
    for (const { id } of runs) {
      for (const what of ["run", "curves", "completions", "config"]) {
        await ask(url, `${what}?run=${id}&metrics=reward`);
      }
    }
    assert.deepEqual(await look(), before);
  }));

Deno.test("tags and notes are kept for the page alone, with the token in the header", () =>
  withDashboard(write, async ({ url }, folder) => {
    const { origin } = new URL(url), { runs } = await ask<Overview>(url, "overview");
    const notes = { tags: [" good ", "good", ""], note: "Look <b>here</b>." };
    const post = (headers: HeadersInit, where = url) =>
      send<Refused>(where, `notes?run=${runs[0]!.id}&token=${TOKEN}`, notes, headers);
    const authorization = `Bearer ${TOKEN}`;
    assert.equal((await post({}))[0], 400);
    assert.equal((await post({ authorization, origin: "http://evil.example" }))[0], 403);
    assert.deepEqual((await ask<Overview>(url, "overview")).runs[0]!.tags, []);
    assert.equal((await post({ authorization, origin }))[0], 200);
    const [{ tags, note }] = (await ask<Overview>(url, "overview")).runs as [RunInfo];
    assert.deepEqual([tags, note], [["good"], "Look <b>here</b>."]);
    const open = await startDashboard({ folders: [folder], token: null });
    const [status, { problem }] = await post({ authorization }, open.url);
    await open.close();
    assert.equal(status, 400);
    assert.match(problem, /no token, so it writes nothing/);
  }));

Deno.test("a port that is taken and an address of another machine are refused", () =>
  withDashboard(write, async ({ url }, folder) => {
    const port = Number(new URL(url).port), common = { folders: [folder], token: null };
    await assert.rejects(startDashboard({ ...common, port }), /port \d+ of 127\.0\.0\.1 is in use/);
    await assert.rejects(
      startDashboard({ ...common, hostname: "192.0.2.1" }),
      refusal(/cannot listen there/, UsageError),
    );
  }));

Deno.test("every script that the scripts of the page import is served", async () => {
  const client = new URL("client/", import.meta.url), names = new Set<string>();
  for (const { name } of Deno.readDirSync(client)) {
    if (!name.endsWith(".ts")) continue;
    const imports = /^import (?!type )[^;]*? from "\.[^"]*\/([^"/]+)";/gm;
    const text = await Deno.readTextFile(new URL(name, client));
    for (const [, imported] of text.matchAll(imports)) names.add(imported!);
  }
  assert.ok(names.size > 10, `${names.size} scripts`);
  for (const name of names) assert.ok(await pageFile(name) !== null, name);
});

Deno.test("the tokens of a completion have the log-probabilities that the run's model gives", () =>
  withDashboard(async (folder) => {
    await write(folder);
    await writeCompletions(`${folder}/one`, 2);
    await copyFolder(goldenPath("models/tinystories-656k"), `${folder}/one/checkpoint-3`);
  }, async ({ url }) => {
    const { runs } = await ask<Overview>(url, "overview");
    const run = runs[0]!.id;
    const found = await ask<CompletionTokens>(url, `tokens?run=${run}&step=2&row=0`);
    assert.deepEqual([found.model, found.modelSteps], ["checkpoint-3", 3]);
    // What `rgx logprobs` says of the prompt's tokens with these after them.
    const wanted = [[-9.25, 4.07], [-1.99, 4.49], [-1.8, 3.4]];
    assert.deepEqual(
      found.tokens.map(({ logprob, entropy }) => [logprob!, entropy!].map((x) => +x.toFixed(2))),
      wanted,
    );
    assert.ok(found.tokens.every(({ likeliest }) => likeliest.length === 3));
    const [status, { problem }] = await send<Refused>(url, `tokens?run=${run}&step=2&row=9`);
    assert.match(problem, /no tokens of this completion/);
    assert.equal(status, 400);
  }));
