/**
 * Operations of a card with small limits: tensors beyond one binding, which are done in parts, and
 * little workgroup memory, for which there are other tiles. Products are in ops/matmul/.
 */
import assert from "node:assert/strict";
import { testOnWebgpu } from "../devices/webgpu/testing.ts";
import type { WebgpuDeviceOptions } from "../devices/webgpu/device.ts";
import { adjustLogitsCases } from "./cases/adjust_logits_testing.ts";
import {
  attentionBackwardCases,
  attentionCases,
  attentionDecodeCases,
} from "./cases/attention_testing.ts";
import { dropoutCases } from "./cases/dropout_testing.ts";
import { headBackwardCases, headCases } from "./cases/head_testing.ts";
import { rowsCases } from "./cases/rows_testing.ts";
import { type Case, checkCase } from "./runner_testing.ts";

/** @param dispatches of each case, in order; else they are not counted */
function testLimits(
  sentence: string,
  limits: NonNullable<WebgpuDeviceOptions["limits"]>,
  cases: () => Case[] | Promise<Case[]>,
  names: RegExp,
  dispatches?: readonly number[],
): void {
  testOnWebgpu(sentence, limits, async (device) => {
    const picked = (await cases()).filter(({ name }) => names.test(name)), found: number[] = [];
    assert.ok(picked.length > 0);
    for (const test of picked) {
      const before = device.counters.dispatches;
      await checkCase(device, test);
      found.push((device.counters.dispatches - before) / 2);
    }
    if (dispatches !== undefined) assert.deepEqual(found, dispatches);
  });
}

/** Forward and backward of the layout with the most rows (398), with these heads. */
const allAttention = async () => [...attentionCases(), ...await attentionBackwardCases()];
const largest = (heads: string) => new RegExp(`^\\[\\[70,.*, heads ${heads}(, window \\d+)?$`);

testLimits(
  "dropout beyond one binding",
  { bindingElements: 300 * 64 },
  dropoutCases,
  /^\[301×300\]/,
);
testLimits(
  "logits beyond one binding",
  { bindingElements: 64 * 1009 },
  adjustLogitsCases,
  /^\[70×1009\]/,
);
// Tables of 307 rows, and sources of up to 661 rows.
testLimits(
  "rows beyond one binding are gathered, scattered and added",
  { bindingElements: 64 * 64 },
  rowsCases,
  /^(\[(67|301)×64\]|.* of 64)$/,
);
// Room for 64 rows of 64 logits: both rows and tokens are divided into chunks.
testLimits(
  "the head of tensors beyond one binding",
  { bindingElements: 4096 },
  async () => [...headCases(), ...await headBackwardCases()],
  /^(pairs \[8,1,1,1,0,2,1\], vocab 1025, d 33|530 rows)(?!.*capped)/,
);

// In 16 KiB, heads of this size get other tiles than in 32 KiB.
const small = { workgroupBytes: 16_384 };
testLimits(
  "attention and its gradient in 16 KiB of workgroup memory",
  small,
  allAttention,
  /^\[\[(2|70),.* heads 2,2,128$/,
);
testLimits(
  "decoding in 16 KiB of workgroup memory",
  small,
  attentionDecodeCases,
  /^5 branches, prompt 90, new 40, heads 2,2,128$/,
);

for (
  const [bindingElements, heads, dispatches] of [
    // Parts of 2 slots and 80 prompt rows.
    [10_240, "6,2,64", 2 + 4 + 1],
    // The same, although views begin at multiples of 64 elements and rows have 12.
    [1024, "2,1,12", 2 + 4 + 1],
    [2 ** 24, "6,2,64", 1 + 1 + 1],
  ] as const
) {
  testLimits(
    `decoding with heads ${heads} and caches in bindings of ${bindingElements} elements`,
    { bindingElements },
    attentionDecodeCases,
    new RegExp(`^5 branches, prompt 90, new 40, heads ${heads}$`),
    [dispatches],
  );
}

testLimits(
  "attention with more queries than one binding holds",
  { bindingElements: 3 * 64 * 6 * 64 },
  attentionCases,
  /^\[\[(2|70),.* heads 6,2,64$/,
  [1, 3],
);
// Seven parts of the queries attend to one, two and three parts of the keys.
testLimits(
  "attention and its gradient in parts of 64 queries and of 192 keys",
  { bindingElements: 64 * 6 * 64 },
  allAttention,
  largest("6,2,64"),
  [3 * 1 + 3 * 2 + 3, 7 + 12 + 1 + 12],
);
// Rows of padded vectors; as many rows in a part of the keys.
testLimits(
  "attention and its gradient in parts of 64 queries and of 128 keys",
  { bindingElements: 64 * 2 * 12 },
  allAttention,
  largest("2,1,12"),
  [2 * 1 + 2 * 2 + 2 * 3 + 4, 7 + 16 + 1 + 16],
);
// Windows; all keys fit, and the sums of keys are in three parts for each part of the queries.
testLimits(
  "attention and its gradient in parts of 192 queries and of all keys",
  { bindingElements: 192 * 7 * 6 },
  allAttention,
  largest("7,1,6"),
  [3, 3 + 3 + 1 + 2 * 3],
);
