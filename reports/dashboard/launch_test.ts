/** Runs that are started from the page: what is asked for, and who may ask. */
import assert from "node:assert/strict";
import type { Overview } from "./data_routes.ts";
import type { LaunchForm, Said } from "./launch.ts";
import { processIsAlive } from "../../core/machine/process_alive.ts";
import { startDashboard } from "./server.ts";
import { ask, send, TOKEN, withDashboard, writeRun } from "./testing.ts";

const write = (folder: string) => writeRun(`${folder}/one`, 3);

const TINY = {
  "model.init.hidden_size": "16",
  "model.init.intermediate_size": "32",
  "model.init.num_hidden_layers": "1",
  "model.init.num_attention_heads": "2",
  "model.init.num_key_value_heads": "1",
  "sft.max_steps": "1",
  "training.max_steps": "2",
  "training.per_device_train_batch_size": "16",
  "eval.num_examples": "0",
};

Deno.test("without --allow-runs nothing can be started", () =>
  withDashboard(write, async ({ url }) => {
    const { allowsRuns, runs } = await ask<Overview>(url, "overview");
    assert.equal(allowsRuns, false);
    for (const path of ["plan", "start", `stop?run=${runs[0]!.id}`, `resume?run=${runs[0]!.id}`]) {
      assert.equal((await send(url, path, { recipe: "quickstart", name: "x" }))[0], 404, path);
    }
  }));

Deno.test("a run is planned and started with the token in the header, from the page alone", () =>
  withDashboard(write, async ({ url }, folder) => {
    const given = (keys: Record<string, string>, name = "new") => ({
      recipe: "quickstart",
      name,
      keys: { ...TINY, ...keys },
    });
    // Forgery: a form or a picture of another page has no such header; a script has its origin.
    const authorization = `Bearer ${TOKEN}`;
    assert.equal((await send(url, `start?token=${TOKEN}`, given({}), {}))[0], 400);
    const evil = { authorization, origin: "http://evil.example" };
    assert.equal((await send(url, "start", given({}), evil))[0], 403);
    assert.equal((await send(url, "start", given({}), { authorization: "Bearer no" }))[0], 401);
    // No words of the page become flags or paths.
    for (const wrong of [given({ "--force": "1" }), given({}, "../x"), given({}, "--resume")]) {
      assert.equal((await send(url, "start", wrong))[0], 400);
    }
    const form = await ask<LaunchForm>(url, "form?recipe=quickstart");
    const steps = form.keys.find(({ key }) => key === "training.max_steps")!;
    assert.deepEqual([steps.value, steps.usual], ["400", "-1"]);
    assert.match(steps.meaning, /optimizer steps/);
    // The errors are those of the terminal.
    const [, refused] = await send<Said>(url, "plan", given({ "training.beta": "-1" }));
    assert.equal(refused.isOk, false);
    assert.match(refused.text, /training\.beta: expected a number ≥ 0/);
    const [, started] = await send<Said>(url, "start", given({}));
    assert.ok(started.isOk, started.text);
    const text = () => Deno.readTextFile(`${folder}/new/run.json`).catch(() => "{}");
    const isOver = async () => {
      const { status, pid } = JSON.parse(await text());
      return status === "completed" && !processIsAlive(pid);
    };
    for (let i = 0; i < 600 && !await isOver(); i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.match(await text(), /"status": "completed"/);
    const { runs } = await ask<Overview>(url, "overview");
    const done = runs.find(({ name }) => name === "new")!;
    const [status, stopped] = await send<{ problem: string }>(url, `stop?run=${done.id}`, {});
    assert.equal(status, 400);
    assert.match(stopped.problem, /no process of this machine is training there/);
    await assert.rejects(
      startDashboard({ folders: [folder], token: null, allowRuns: true }),
      /only with a token/,
    );
  }, { allowRuns: true }));
