/** Disks that are full or cannot be written to, under real runs. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import {
  assertClean,
  assertSameRun,
  namesIn,
  rgx,
  runs,
  succeeds,
  tinyConfig,
} from "../support.ts";
import { NEEDED, needs } from "../skipped.ts";
import { hasSmallDisk, withSmallDisk } from "../small_disk.ts";

test.inFolder(
  "a full disk ends the run with 1 and a message, and checkpoints before it stay valid",
  async (cwd) => {
    const config = await tinyConfig(cwd);
    const args = argv`train ${config} training.log_completions=false sft.max_steps=30 max_steps=12
        training.save_total_limit=null model.init.hidden_size=64`;
    await succeeds([...args, "--output-dir", `${cwd}/whole`]);
    await withSmallDisk("4m", async (disk, remount) => {
      const run = `${disk}/run`;
      const full = await rgx([...args, "--output-dir", run]);
      assert.equal(full.code, 1, full.err);
      assertClean(full);
      assert.match(full.err, /run\S*: cannot write \S+ \S+: the disk is full/);
      assert.match(full.err, /help: Free some space/);
      // It was said before the first step.
      assert.match(
        full.err,
        /warning: the run writes at most about [^]*save_total_limit=2 keeps/,
      );
      const checkpoints = [`${run}/warm-start`, run].flatMap((folder) =>
        namesIn(folder).filter((name) => name.startsWith("checkpoint-"))
          .map((name) => `${folder}/${name}`)
      );
      assert.ok(checkpoints.length > 0, "the disk is large enough for one checkpoint");
      for (const path of checkpoints) {
        assert.match(path, /\/checkpoint-\d+$/, "nothing half-written is left");
        await runs(argv`sha256sum --check --strict --quiet SHA256SUMS`, { cwd: path });
      }
      // With more space, the resumed run has the same bits.
      await remount("size=20m");
      await succeeds([...args, "--output-dir", run, "--resume"]);
      await assertSameRun(run, `${cwd}/whole`);
    });
  },
  needs(hasSmallDisk, NEEDED.smallDisk),
);

test.inFolder(
  "a disk that the transcript fills ends the run with a message, and nothing is lost",
  async (cwd) => {
    // With a host, all replies stand in the transcript.
    const environment = `environment: { path: game.ts, net: ["127.0.0.1:9"] }\n`;
    const config = await tinyConfig(cwd, environment);
    await Deno.writeTextFile(
      `${cwd}/game.ts`,
      `export default { step: ({ content }) => (
          { content: "long ".repeat(50_000), done: true, reward: content.length % 3 }) };`,
    );
    const args = argv`train ${config} training.log_completions=false training.max_steps=2
        training.save_steps=1 eval.num_examples=0`;
    await succeeds([...args, "--output-dir", `${cwd}/whole`]);
    await withSmallDisk("5m", async (disk, remount) => {
      const run = `${disk}/run`, full = await rgx([...args, "--output-dir", run]);
      assert.equal(full.code, 1, full.err);
      assertClean(full);
      assert.match(full.err, /transcript\.jsonl: cannot append to the file: the disk is full/);
      const transcript = await Deno.readTextFile(`${run}/transcript.jsonl`);
      assert.ok(transcript.endsWith("}\n"), "no line is half-written");
      await remount("size=40m");
      await succeeds([...args, "--output-dir", run, "--resume"]);
      await assertSameRun(run, `${cwd}/whole`);
    });
  },
  needs(hasSmallDisk, NEEDED.smallDisk),
);

test.inFolder("a folder that cannot be written to is named", async (cwd) => {
  const config = await tinyConfig(cwd);
  await withSmallDisk("1m", async (disk, remount) => {
    await remount("ro");
    const { code, err } = await rgx(["train", config, "--output-dir", `${disk}/run`]);
    assert.equal(code, 2, err);
    assert.ok(err.includes(`cannot create ${disk}/run`), err);
    assert.match(err, /read-only[^]*Name a folder that you may write to/);
  });
}, needs(hasSmallDisk, NEEDED.smallDisk));
