import assert from "node:assert/strict";
import { refusal, withFolder, writeFiles } from "../../core/testing.ts";
import { RgxError } from "../../core/errors.ts";
import { openWeightFiles } from "./weight_files.ts";

const golden: Record<"zip" | "legacy", string> = JSON.parse(
  await Deno.readTextFile(new URL("../../tests/golden/torch_files.json", import.meta.url)),
);
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

/** Calls `body` with a folder that has these files. */
async function withFiles(
  files: Record<string, string | Uint8Array>,
  body: (folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    await writeFiles(folder, files);
    await body(folder);
  });
}

Deno.test("pytorch_model.bin is read like safetensors, whole and in shards", async () => {
  const half = new Float32Array([1, -2, 0.5, 3, -4, 8]);
  await withFiles({ "pytorch_model.bin": bytesOf(golden.zip) }, async (folder) => {
    const weights = await openWeightFiles(folder, false);
    assert.deepEqual(await weights.values("half", [6]), half);
    assert.deepEqual(await weights.values("scalar", []), new Float64Array([Math.PI]));
    assert.equal(await weights.values("none", [6]), null);
    await assert.rejects(
      weights.values("half", [2, 3]),
      /pytorch_model\.bin: tensor "half" has shape \[6\], expected \[2, 3\]/,
    );
  });
  const map = {
    half: "pytorch_model-00001-of-00002.bin",
    brain: "pytorch_model-00002-of-00002.bin",
  };
  const index = (weight_map: object) => JSON.stringify({ metadata: {}, weight_map });
  await withFiles({
    "pytorch_model.bin.index.json": index(map),
    [map.half]: bytesOf(golden.zip),
    [map.brain]: bytesOf(golden.zip),
  }, async (folder) => {
    const weights = await openWeightFiles(folder, false);
    assert.deepEqual(weights.names(), ["half", "brain"]);
    assert.deepEqual(await weights.values("brain", [1, 6]), half);
    await Deno.writeTextFile(
      `${folder}/pytorch_model.bin.index.json`,
      index({ half: "../pytorch_model.bin" }),
    );
    await assert.rejects(openWeightFiles(folder, false), /expected the name of a bin file beside/);
  });
});

Deno.test("other formats of weights are refused with advice", async () => {
  const cases: [string, RegExp][] = [
    ["__0_0.distcp", /FSDP shards: .*accelerate merge-weights/],
    ["pytorch_model_fsdp_0", /FSDP shards/],
    ["zero_to_fp32.py", /DeepSpeed shards: .*python zero_to_fp32\.py/],
    ["model.Q4_K_M.gguf", /path of the GGUF file itself/],
    ["consolidated.00.pth", /pytorch_model\.bin/],
    ["tf_model.h5", /safetensors/],
  ];
  for (const [name, advice] of cases) {
    await withFiles({ [name]: "" }, async (folder) => {
      const none = /no weights: looked for model\.safetensors, .*bin\.index\.json/;
      await assert.rejects(openWeightFiles(folder, false), refusal(none, RgxError, { advice }));
    });
  }
});
