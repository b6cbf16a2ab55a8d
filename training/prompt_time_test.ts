import assert from "node:assert/strict";
import { isLocalTime, localTime } from "../core/local_time.ts";
import {
  copyFolder,
  metricsWithoutClock,
  shortRunConfig,
  stopsAfter,
  test,
  trainOn,
  weightsOf,
} from "./testing.ts";

/** It writes the time as the templates of Llama 3 write the date. */
const TEMPLATE = "{{ strftime_now('%S') }} {{ messages[0].content }}";

test.onReference("a resumed run keeps the time that the chat template wrote at its start", async ({ device, dir }) => {
  const config = (path: string, template: string | null = TEMPLATE) => {
    const made = shortRunConfig(path);
    made.model.chat_template = template;
    return made;
  };
  const start = `${dir}/start`;
  const stopped = await trainOn(device, config(start), stopsAfter(1));
  assert.equal(stopped.summary.status, "stopped");
  const timeIn = async (path: string) =>
    JSON.parse(await Deno.readTextFile(`${path}/run.json`)).prompt_time;
  const time = await timeIn(start);
  assert.ok(isLocalTime(time) && time <= localTime(), time);
  const outcomes: unknown[] = [];
  for (const name of ["soon", "later"]) {
    const path = `${dir}/${name}`;
    await copyFolder(start, path);
    const { summary } = await trainOn(device, config(path), { resume: true });
    assert.equal(summary.status, "completed");
    assert.equal(await timeIn(path), time);
    outcomes.push([await metricsWithoutClock(path), await weightsOf(path)]);
    await new Promise((resolve) => setTimeout(resolve, 1100));
  }
  assert.deepEqual(outcomes[1], outcomes[0]);
  // A run whose template reads no clock records no time.
  await trainOn(device, config(`${dir}/plain`, null));
  assert.equal(await timeIn(`${dir}/plain`), undefined);
});
