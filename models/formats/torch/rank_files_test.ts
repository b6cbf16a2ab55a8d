/** Parts of a model that are damaged or hostile: nothing in them is run. */
import assert from "node:assert/strict";
import { refusal, test } from "../../../core/testing.ts";
import { RgxError } from "../../../core/errors.ts";
import { goldenPath } from "../../../tests/golden.ts";
import { rankRules } from "./distributed_rules.ts";
import { findRankFiles, openRankFiles } from "./rank_files.ts";
import { parseTorchFile } from "./torch_file.ts";
import { accepted, editedBytes, mostAreRefused } from "../../damage_testing.ts";
import { unpickle } from "./unpickle.ts";

const run = (text: string) => {
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  return unpickle(bytes, rankRules("r.pt"), "r.pt");
};
const name = (module: string, item: string) => `c${module}\n${item}\n`;
const FROM_TYPE = name("torch._tensor", "_rebuild_from_type_v2");
const WRAPPER = name("torch._utils", "_rebuild_wrapper_subclass");
const DTENSOR = name("torch.distributed.tensor", "DTensor");

Deno.test("objects of torch.distributed are data; everything else is refused by name", () => {
  const mesh = run(name("torch.distributed.device_mesh", "DeviceMesh") + ")\x81}U\x01aK\x07sb.");
  assert.deepEqual(mesh, {
    kind: "instance",
    className: "torch.distributed.device_mesh DeviceMesh",
    args: [],
    state: new Map([["a", 7]]),
  });
  assert.deepEqual(run(name("torch", "Size") + "K\x02K\x03\x86\x85R."), [2, 3]);
  const cases: [string, RegExp][] = [
    ["cos\nsystem\nX\x02\0\0\0ls\x85R.", /names "os\.system", which is no part of a tensor/],
    ["c__builtin__\ngetattr\n.", /names "__builtin__\.getattr"/],
    ["ctorch.distributedx\nf\n.", /names "torch\.distributedx\.f"/],
    // A class of torch.distributed is never called, only held.
    [name("torch.distributed.rpc", "rpc_sync") + ")R.", /calls what cannot be called/],
    [name("torch", "Size") + ")\x81.", /makes an object of what is no class/],
    ["K\x01)\x81.", /makes an object of what is no class/],
    [name("torch.distributed._shard.x", "ShardedTensor") + ".", /ShardedTensors of FSDP 1/],
    [`${FROM_TYPE})R.`, /is made by what is not known/],
    [`${FROM_TYPE}(${WRAPPER}${name("torch.distributed.x", "Other")}NNtR.`, /is a torch\.distr/],
    [`${FROM_TYPE}(${WRAPPER}${DTENSOR}(NNK\x02\x85tNtR.`, /has no local part, shape and pl/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => run(text), refusal(message, RgxError, { where: "r.pt: ", advice: /./ }));
  }
});

Deno.test("DTensors are refused where a whole model is expected", async () => {
  const path = goldenPath("fsdp/fsdp2/actor/model_world_size_4_rank_0.pt");
  await assert.rejects(
    parseTorchFile(await Deno.readFile(path), "pytorch_model.bin"),
    /pytorch_model\.bin: the pickle names "torch\._tensor\._rebuild_from_type_v2"/,
  );
});

test.inFolder("200 damaged parts are put together or refused", async (folder) => {
  const files = [0, 1].map((rank) => `model_world_size_2_rank_${rank}.pt`);
  const [first, second] = await Promise.all(
    files.map((file) => Deno.readFile(goldenPath(`fsdp/placed/actor/${file}`))),
  );
  await Deno.writeFile(`${folder}/${files[1]}`, second!);
  const read = (bytes: Uint8Array) =>
    accepted(async () => {
      await Deno.writeFile(`${folder}/${files[0]}`, bytes);
      const joined = await openRankFiles((await findRankFiles(folder))!);
      for (const { name, shape } of joined.tensors) {
        const { length } = await joined.bytes(name);
        assert.ok(length >= shape.reduce((a, b) => a * b, 1));
      }
    });
  await mostAreRefused(editedBytes(first!, [...".()}]tuseRbQ\x81"]), read, {
    count: 200,
    seed: 5,
    share: 1 / 5,
  });
});
