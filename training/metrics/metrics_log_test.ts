import assert from "node:assert/strict";
import { refusal, withFolder } from "../../core/testing.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { MetricsLog } from "../run/run_folder.ts";

async function withFile(test: (path: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await test(`${folder}/metrics.jsonl`);
  });
}

Deno.test("records are lines, and values that JSON cannot hold are null", () =>
  withFile(async (path) => {
    const log = await MetricsLog.open(path);
    assert.equal(log.bytes, 0);
    await log.flush();
    await log.append({ step: 1, reward: NaN, kl: Infinity, note: "é" });
    await log.append({ step: 2, nested: { list: [-Infinity, 1] } }, { sync: true });
    await log.flush();
    const text = await Deno.readTextFile(path);
    assert.equal(
      text,
      `{"step":1,"reward":null,"kl":null,"note":"é"}\n{"step":2,"nested":{"list":[null,1]}}\n`,
    );
    assert.equal(log.bytes, new TextEncoder().encode(text).length);
  }));

Deno.test("on resume the file is cut back and continued", () =>
  withFile(async (path) => {
    const log = await MetricsLog.open(path);
    await log.append({ step: 1 });
    const atSave = log.bytes;
    await log.append({ step: 2 });
    await Deno.writeTextFile(path, `{"step":3,"rew`, { append: true });
    const resumed = await MetricsLog.open(path, atSave);
    assert.equal(resumed.bytes, atSave);
    await resumed.append({ step: 2 });
    assert.equal(await Deno.readTextFile(path), `{"step":1}\n{"step":2}\n`);
    assert.equal((await MetricsLog.open(path, 0)).bytes, 0);
    assert.equal(await Deno.readTextFile(path), "");
  }));

Deno.test("an incomplete last line is dropped", () =>
  withFile(async (path) => {
    await Deno.writeTextFile(path, `{"step":1}\n{"st`);
    assert.equal((await MetricsLog.open(path)).bytes, 11);
    assert.equal(await Deno.readTextFile(path), `{"step":1}\n`);
    await Deno.writeTextFile(path, `{"st`);
    assert.equal((await MetricsLog.open(path)).bytes, 0);
  }));

Deno.test("a file shorter than its checkpoint says is kept", () =>
  withFile(async (path) => {
    await Deno.writeTextFile(path, `{"step":1}\n`);
    assert.equal((await MetricsLog.open(path, 50)).bytes, 11);
  }));

Deno.test({
  name: "a full disk is explained",
  ignore: needs(Deno.build.os === "linux", NEEDED.system),
  fn: () =>
    withFile(async (path) => {
      const log = await MetricsLog.open(path);
      await Deno.symlink("/dev/full", path);
      await assert.rejects(
        log.append({ step: 1 }),
        refusal(/the disk is full/),
      );
    }),
});
