/**
 * The conformance suite: runs every operation on every device (devices_testing.ts) with many shapes
 * (cases/, one file per operation), and compares the results with the float64 reference
 * (runner.ts). Run it with and without the V8 flags of the engine. Sampling, dropout masks and
 * gradients have separate tests in this folder.
 */
import assert from "node:assert/strict";
import { adjustLogitsCases } from "./cases/adjust_logits.ts";
import { attentionBackwardCases, attentionCases, attentionDecodeCases } from "./cases/attention.ts";
import { biasCases } from "./cases/bias.ts";
import { decodeLayerCases } from "./cases/decode_layer.ts";
import { dropoutCases } from "./cases/dropout.ts";
import { elementwiseCases } from "./cases/elementwise.ts";
import { geluCases } from "./cases/gelu.ts";
import { headBackwardCases, headCases } from "./cases/head.ts";
import { layernormCases } from "./cases/layernorm.ts";
import { matmulCases } from "./cases/matmul.ts";
import { optimizerCases } from "./cases/optimizer.ts";
import { rmsnormCases } from "./cases/rmsnorm.ts";
import { ropeCases } from "./cases/rope.ts";
import { rowsCases } from "./cases/rows.ts";
import { storedCases } from "./cases/stored_weights.ts";
import { swigluCases } from "./cases/swiglu.ts";
import { DEVICES } from "./devices_testing.ts";
import { type Case, checkCase, execute } from "./runner.ts";
import { sameBits } from "../testing.ts";
import { someOf } from "../../tests/cases.ts";

const TABLES: readonly [name: string, cases: () => Case[] | Promise<Case[]>][] = [
  ["matmul", matmulCases],
  ["rmsnorm", rmsnormCases],
  ["rope", ropeCases],
  ["swiglu", swigluCases],
  ["bias", biasCases],
  ["layernorm", layernormCases],
  ["gelu", geluCases],
  ["attention", attentionCases],
  ["attention_backward", attentionBackwardCases],
  ["attention_decode", attentionDecodeCases],
  ["decode_layer", decodeLayerCases],
  ["rows", rowsCases],
  ["head", headCases],
  ["head_backward", headBackwardCases],
  ["optimizer", optimizerCases],
  ["elementwise", elementwiseCases],
  ["dropout", dropoutCases],
  ["adjust_logits", adjustLogitsCases],
  ["stored weights", storedCases],
];

/** Shorter tables for a software adapter, which compiles kernels slowly. */
const BRIEF = new Map([["stored weights", () => storedCases(true)]]);

for (const [name, makeCases] of TABLES) {
  let table: Case[] | undefined;
  for (const { name: deviceName, create, sameBitsAs, someCases = false, isMissing } of DEVICES) {
    const sentence = `${name} on ${deviceName} agrees with the float64 reference`;
    Deno.test(sentence, { ignore: isMissing?.() ?? false }, async () => {
      const device = await create();
      const like = await DEVICES.find((other) => other.name === sameBitsAs)?.create();
      try {
        const brief = device.adapter?.software ? BRIEF.get(name) : undefined;
        const cases = brief !== undefined ? await brief() : table ??= await makeCases();
        assert.ok(cases.length > 0);
        for (const test of someOf(cases, someCases)) {
          const found = await checkCase(device, test);
          if (like === undefined) continue;
          for (const [argument, bits] of await execute(like, test)) {
            const same = sameBits(bits, found.get(argument)!);
            assert.ok(same, `${test.op} ${test.name}: ${argument} differs from ${sameBitsAs}`);
          }
        }
        assert.equal(device.allocatedBytes, 0);
      } finally {
        device.close();
        like?.close();
      }
    });
  }
}
