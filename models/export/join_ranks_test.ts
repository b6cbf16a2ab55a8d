/**
 * The parts that FSDP's processes save are put together as torch does it. The golden files were
 * written by torch with DTensors on gloo (tests/golden/README.md).
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { refusal, test } from "../../core/testing.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { goldenPath } from "../../tests/golden.ts";
import { readSafetensors } from "../formats/safetensors/safetensors.ts";
import { readRankFile } from "../formats/torch/torch_file.ts";
import { readModelFolder } from "../model_folder.ts";
import { convertModel } from "./convert.ts";

const golden = goldenPath("fsdp");
const part = (world: number, rank: number) => `model_world_size_${world}_rank_${rank}.pt`;

/** Copies a golden checkpoint to `{folder}/step/actor` as verl lays it out. */
async function checkpoint(name: string, folder: string): Promise<string> {
  const actor = `${folder}/step/actor`;
  await Deno.mkdir(`${actor}/huggingface`, { recursive: true });
  await Deno.copyFile(`${golden}/config.json`, `${actor}/huggingface/config.json`);
  for await (const { name: file } of Deno.readDir(`${golden}/${name}/actor`)) {
    await Deno.copyFile(`${golden}/${name}/actor/${file}`, `${actor}/${file}`);
  }
  return actor;
}

for (
  const [name, world, whole] of [
    ["fsdp2", 4, "bf16"],
    ["hsdp", 4, "f32"],
    ["placed", 2, "f32"],
    ["fsdp1", 2, "f32"],
  ] as const
) {
  test.inFolder(`${name}: the parts of ${world} processes become the whole weights`, async (folder) => {
    const actor = await checkpoint(name, folder), wanted = `${golden}/whole_${whole}.safetensors`;
    const others = [`${folder}/step`, `${actor}/${part(world, world - 1)}`];
    const sources = [actor, ...(name === "fsdp2" ? others : [])];
    for (const [i, source] of sources.entries()) {
      const { path, notes } = await convertModel(source, { output: `${folder}/${i}` });
      const [found, expected] = await Promise.all(
        [`${path}/model.safetensors`, wanted].map(readSafetensors),
      );
      assert.deepEqual([...found!.tensors.keys()].sort(), [...expected!.tensors.keys()].sort());
      for (const { name, dtype, shape } of expected!.tensors.values()) {
        assert.deepEqual(found!.info(name).dtype, dtype, name);
        assert.deepEqual(found!.info(name).shape, shape, name);
        assert.deepEqual(await found!.bytes(name), await expected!.bytes(name), name);
      }
      assert.match(notes[0]!, new RegExp(`of ${world} FSDP processes`));
    }
    const { config, files } = await readModelFolder(`${folder}/0`);
    assert.equal(config.vocabSize, 23);
    assert.ok(await files.values("lm_head.weight", [23, 12]));
  });
}

async function refused(source: string, message: RegExp, advice: RegExp): Promise<void> {
  const output = `${await Deno.makeTempDir()}/out`;
  await assert.rejects(convertModel(source, { output }), refusal(message, RgxError, { advice }));
  await assert.rejects(Deno.stat(output), Deno.errors.NotFound);
}

test.inFolder("parts that are missing, of several runs or without a configuration are refused", async (folder) => {
  const actor = await checkpoint("fsdp2", folder), first = `${actor}/${part(4, 0)}`;
  await Deno.rename(`${actor}/${part(4, 2)}`, `${folder}/kept`);
  await refused(actor, /1 of 4 parts are missing: rank 2$/, /copy all model_world_size_4_rank_/);
  await refused(first, /1 of 4 parts are missing/, /on its own machine/);
  // A part of another save with other placements, of another type, or with other names.
  await Deno.copyFile(`${golden}/hsdp/actor/${part(4, 2)}`, `${actor}/${part(4, 2)}`);
  await refused(actor, /rank_2\.pt: tensor ".*" is F32, in .*rank_0\.pt it is BF16/, /one run/);
  // The part of another rank, or the same part twice.
  await Deno.copyFile(`${actor}/${part(4, 1)}`, `${actor}/${part(4, 2)}`);
  await refused(
    actor,
    /is divided among 4 processes, there are parts of 4|same place/,
    /one run/,
  );
  await Deno.rename(`${folder}/kept`, `${actor}/${part(4, 2)}`);
  await Deno.copyFile(`${golden}/placed/actor/${part(2, 0)}`, `${actor}/${part(2, 0)}`);
  await refused(actor, /parts of runs with 2 and 4 processes/, /Name one file/);
  await refused(`${actor}/${part(2, 0)}`, /1 of 2 parts are missing: rank 1/, /copy all/);
  await convertModel(first, { output: `${folder}/out` });
  await Deno.remove(`${actor}/huggingface`, { recursive: true });
  await refused(first, /no configuration: looked for huggingface\/config\.json/, /Copy config/);
  const ofPart = refusal(/a part of a model, as the processes of FSDP save it/, UsageError, {
    advice: /rgx convert .*actor --output/,
  });
  await assert.rejects(readModelFolder(actor), ofPart);
  await assert.rejects(readModelFolder(first), /a part of a model/);
});

test.inFolder("a part of a run with another number of processes is refused", async (folder) => {
  const actor = await checkpoint("fsdp1", folder);
  await Deno.copyFile(`${golden}/placed/actor/${part(2, 1)}`, `${actor}/${part(2, 1)}`);
  await refused(actor, /rank_1\.pt: tensor ".*" is divided in another way/, /one run/);
  for (const rank of [0, 1]) {
    await Deno.copyFile(`${golden}/fsdp2/actor/${part(4, rank)}`, `${actor}/${part(2, rank)}`);
  }
  await refused(
    actor,
    /its part of ".*" has shape \[6,12\], expected \[12,12\] of \[23,12\]/,
    /one run/,
  );
});

test.inFolder("replicas that differ are refused, and ShardedTensors by their name", async (folder) => {
  const actor = await checkpoint("hsdp", folder), path = `${actor}/${part(4, 3)}`;
  const bytes = Buffer.from(await Deno.readFile(path)), { file } = await readRankFile(path);
  bytes[bytes.indexOf(await file.bytes("model.embed_tokens.weight"))]! ^= 1;
  // Without checksums in the archive's directory, as torch writes it on request.
  for (let at = bytes.indexOf("PK\x01\x02"); at >= 0; at = bytes.indexOf("PK\x01\x02", at + 1)) {
    bytes.writeUInt32LE(0, at + 16);
  }
  await Deno.writeFile(path, bytes);
  await refused(
    actor,
    /rank_3\.pt: its copy of ".*" differs from that in .*rank_1\.pt/,
    /one run/,
  );
  const sharded = `${golden}/sharded_tensor`;
  const old = `${folder}/old`;
  await Deno.mkdir(old);
  await Deno.copyFile(`${golden}/config.json`, `${old}/config.json`);
  for (const rank of [0, 1]) {
    await Deno.copyFile(`${sharded}/${part(2, rank)}`, `${old}/${part(2, rank)}`);
  }
  await refused(old, /rank_0\.pt: it holds ShardedTensors of FSDP 1/, /fsdp2/);
  const advice = /rgx convert FOLDER/;
  await assert.rejects(readModelFolder(old), refusal(/no weights/, RgxError, { advice }));
});
