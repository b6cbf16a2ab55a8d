/** The progress line of a pull fits 80 columns; models that cannot be computed are refused. */
import assert from "node:assert/strict";
import { acceptModel, progressText } from "./pull.ts";
import { embeddedShapes } from "../../configs/model_shapes.ts";

Deno.test("the line of a pull fits 80 columns however large things are", () => {
  const text = progressText({ present: 1.23e9, bytes: 4.56e9 }, { done: 3, all: 9 }, 45.2e6);
  assert.equal(text, "3/9 files  1.23 GB of 4.56 GB  26 %  45.2 MB/s  1 min 14 s left");
  const huge = progressText(
    { present: 999.4e12, bytes: 999.4e12 },
    { done: 9999, all: 9999 },
    999.4e9,
  );
  assert.ok(huge.length < 80, huge);
  assert.equal(
    progressText({ present: 0, bytes: 10 }, { done: 0, all: 1 }, 0),
    "0/1 files  0 B of 10 B  0 %",
  );
  assert.match(progressText({ present: 0, bytes: 0 }, { done: 1, all: 1 }, 0), /100 %$/);
});

Deno.test("a model of another family is refused by name, and one that does not fit is noted", () => {
  const notes: string[] = [], room = { bytes: 4e9, by: "machine" } as const;
  const accept = (config: Record<string, unknown>, bytes = 1e9) =>
    acceptModel("org/m", config, bytes, (note) => notes.push(note), room);
  for (
    const [config, message] of [
      [{ model_type: "gemma3n" }, /model_type is "gemma3n".*only llama, .*lfm2.*no weights were/],
      [{ model_type: "deepseek_v3" }, /model_type is "deepseek_v3", which is not supported/],
      [
        { ...embeddedShapes().get("LiquidAI/LFM2-350M"), conv_bias: true },
        /conv_bias is true, which is not/,
      ],
    ] as const
  ) {
    assert.throws(() => accept(config), message);
  }
  accept({ ...embeddedShapes().get("LiquidAI/LFM2-1.2B") });
  assert.deepEqual(notes, []);
  accept({ ...embeddedShapes().get("google/gemma-2-2b-it") }, 5e9);
  assert.match(notes.join(), /the weights have 5.00 GB, and this machine has 4.00 GB free/);
});
