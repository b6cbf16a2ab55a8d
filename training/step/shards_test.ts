/** Optimizer states divided over ranks: the bits, the files and the memory of one rank. */
import assert from "node:assert/strict";
import type { Device } from "../../kernels/device.ts";
import { BLOCK } from "../../kernels/ops/adamw_8bit/spec.ts";
import { createReferenceDevice } from "../../kernels/devices/reference/device.ts";
import { bytesOf } from "../../models/folder_testing.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import { countedBytes, randomModel } from "../../models/testing.ts";
import { localTransports } from "../../cluster/ranks/local_testing.ts";
import { ALONE, Ranks } from "../../cluster/ranks/ranks.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";
import type { OptimizerKind } from "./state_tensors.ts";
import { AdamW } from "./optimizer.ts";
import {
  fillGradients,
  KINDS,
  SETTINGS,
  stepWith,
  values,
  wideConfig,
} from "./optimizer_testing.ts";
import { shardBorders, Shards } from "./shards.ts";

type Model = Awaited<ReturnType<typeof randomModel>>;

interface Rank {
  device: Device;
  model: Model;
  ranks: Ranks;
  optimizer: AdamW;
  /** Bytes that the optimizer has taken. */
  taken: number;
}

/** Each rank with a device, the same model and its part of the optimizer. */
async function createRanks(
  size: number,
  kind: OptimizerKind,
  weights: StorageOptions,
): Promise<Rank[]> {
  const all = size === 1 ? [ALONE] : localTransports(size).map((transport) => new Ranks(transport));
  return await Promise.all(all.map(async (ranks) => {
    const device = createReferenceDevice();
    const model = await randomModel(device, wideConfig, { trainable: "full", weights });
    const shards = size === 1 ? null : new Shards(ranks, model, kind),
      before = device.allocatedBytes;
    const optimizer = new AdamW(device, model, { ...SETTINGS, kind, seed: 5, pass: 1 }, shards);
    return { device, model, ranks, optimizer, taken: device.allocatedBytes - before };
  }));
}

/** The first rank's file, which all ranks make together. */
async function saved(ranks: readonly Rank[]): Promise<Uint8Array> {
  const [bytes] = await Promise.all(
    ranks.map(({ optimizer, ranks }) =>
      ranks.isFirst ? bytesOf(optimizer.save()) : optimizer.follow()
    ),
  );
  return bytes as Uint8Array;
}

async function steps(ranks: readonly Rank[], from: number, to: number): Promise<number[]> {
  const norms = await Promise.all(ranks.map(async ({ device, model, optimizer }) => {
    const own = [];
    for (let step = from; step <= to; step++) {
      fillGradients(device, model, step);
      own.push((await stepWith(optimizer, 0.01)).gradNorm);
    }
    return own;
  }));
  for (const other of norms) assert.deepEqual(other, norms[0]);
  return norms[0]!;
}

for (const [name, kind, weights] of KINDS) {
  Deno.test(`divided over 2, 3 and 5 ranks, the optimizer has the same bits: ${name}`, async () => {
    const alone = await createRanks(1, kind, weights);
    const norms = await steps(alone, 1, 2), half = await saved(alone);
    norms.push(...await steps(alone, 3, 4));
    const whole = await saved(alone), end = await values(alone[0]!.model);
    for (const [before, after] of [[2, 3], [5, 1]] as const) {
      const first = await createRanks(before, kind, weights);
      const found = await steps(first, 1, 2), file = await saved(first);
      assert.deepEqual(file, half, `the checkpoint of ${before} ranks`);
      const next = await createRanks(after, kind, weights);
      for (const [rank, { model, optimizer }] of next.entries()) {
        const source = first[rank % before]!.model;
        for (const { name } of model.trainable) {
          model.writeParameter(name, await source.readParameter(name));
        }
        await optimizer.load(await parseSafetensors(file));
      }
      found.push(...await steps(next, 3, 4));
      assert.deepEqual(found, norms);
      assert.deepEqual(await saved(next), whole, `${before} ranks, then ${after}`);
      for (const { model } of next) assert.deepEqual(await values(model), end);
    }
  });

  Deno.test(`each rank takes its part of the memory, as planned: ${name}`, async () => {
    const size = 3;
    const [most, all] = [size, 1].map((count) =>
      createRanks(count, kind, weights).then((ranks) =>
        Math.max(...ranks.map(({ taken }) => taken))
      )
    );
    const { model } = (await createRanks(1, kind, weights))[0]!, taken = await most!;
    const counted = await countedBytes(model, (model) => {
      const ranks = { rank: 0, size } as Ranks;
      return new AdamW(model.device, model, { ...SETTINGS, kind }, new Shards(ranks, model, kind));
    });
    assert.ok(counted < 1.1 * taken + 2 ** 13, `${counted}, taken ${taken}`);
    assert.ok(taken < 1.1 * counted + 2 ** 13, `${counted}, taken ${taken}`);
    assert.ok(taken < await all!);
  });
}

Deno.test("parts take about the same bytes, and no block of 8-bit moments is cut", () => {
  const placed = [
    { offset: 0, n: 10_000, cost: 8 },
    { offset: 10_048, n: 70_001, cost: 2 },
    { offset: 80_064, n: 7, cost: 8 },
  ];
  for (let size = 1; size <= 9; size++) {
    const borders = shardBorders(placed, 80_128, size);
    assert.equal(borders.length, size + 1);
    assert.deepEqual([borders[0], borders.at(-1)], [0, 80_128]);
    const bytes = borders.slice(1).map((end, rank) => {
      const begin = borders[rank]!;
      assert.ok(begin <= end);
      const of = placed.findLast(({ offset }) => offset <= begin)!;
      assert.ok(begin === 80_128 || (begin - of.offset) % BLOCK === 0);
      return placed.reduce(
        (sum, { offset, n, cost }) =>
          sum + cost * Math.max(0, Math.min(end, offset + n) - Math.max(begin, offset)),
        0,
      );
    });
    const total = bytes.reduce((sum, part) => sum + part, 0);
    assert.equal(total, 80_000 + 140_002 + 56);
    for (const part of bytes) assert.ok(Math.abs(part - total / size) <= 2 * 8 * BLOCK);
  }
});
