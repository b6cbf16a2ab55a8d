/** The cases of the conformance suite, one table for each operation or family of operations. */
import { adjustLogitsCases } from "./cases/adjust_logits_testing.ts";
import {
  attentionBackwardCases,
  attentionCases,
  attentionDecodeCases,
} from "./cases/attention_testing.ts";
import { biasCases } from "./cases/bias_testing.ts";
import { doraCases } from "./cases/dora_testing.ts";
import { decodeLayerCases } from "./cases/decode_layer_testing.ts";
import { deltaRuleCases } from "./cases/delta_rule_testing.ts";
import { dropoutCases } from "./cases/dropout_testing.ts";
import { elementwiseCases } from "./cases/elementwise_testing.ts";
import { expertCases } from "./cases/experts_testing.ts";
import { geluCases } from "./cases/gelu_testing.ts";
import { headBackwardCases, headCases } from "./cases/head_testing.ts";
import { layernormCases } from "./cases/layernorm_testing.ts";
import { matmulCases } from "./cases/matmul_testing.ts";
import { optimizerCases } from "./cases/optimizer_testing.ts";
import { rmsnormCases } from "./cases/rmsnorm_testing.ts";
import { ropeCases } from "./cases/rope_testing.ts";
import { rowsCases } from "./cases/rows_testing.ts";
import { shortConvCases } from "./cases/short_conv_testing.ts";
import { storedCases } from "./cases/stored_weights_testing.ts";
import { swigluCases } from "./cases/swiglu_testing.ts";
import type { Case } from "./runner_testing.ts";

export const TABLES: readonly [name: string, cases: () => Case[] | Promise<Case[]>][] = [
  ["matmul", matmulCases],
  ["rmsnorm", rmsnormCases],
  ["rope", ropeCases],
  ["swiglu", swigluCases],
  ["bias", biasCases],
  ["dora", doraCases],
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
  ["short_conv", shortConvCases],
  ["experts", expertCases],
  ["delta_rule", deltaRuleCases],
  ["dropout", dropoutCases],
  ["adjust_logits", adjustLogitsCases],
  ["stored weights", storedCases],
];

/** Those of a graphics card, which runs the operations of a decoding layer one by one. */
export const CARD_TABLES = TABLES.filter(([name]) => name !== "decode_layer");

/**
 * Sizes of heads that differ in how a card's kernels are made: read in pairs, whole tiles and one
 * that ends early, and the least memory left. Forward, which compiles soon, also only whole tiles.
 */
const HEAD_SIZES = [6, 80, 512], FORWARD_SIZES = [...HEAD_SIZES, 64, 256];

/** Cases of some sizes of heads. A soft cap and sinks are the same text in each of them. */
const ofFewHeads = (cases: readonly Case[]) =>
  cases.filter(({ op, args }) => {
    const { headDim, softCap, sinks } = args as { headDim: number; softCap?: 1; sinks?: 1 };
    const sizes = op === "attention" ? FORWARD_SIZES : HEAD_SIZES;
    return sizes.includes(headDim) && ((softCap ?? sinks) === undefined || headDim === 6);
  });

/** Whole vectors and not, few rows and none, in all layouts. */
const FEW_PLAIN = /^\[(65×257|12×392|1×1028|2×128|3×300|5×0)\]/;
/** Stored weights and adapters, whose parts of a kernel are the same in each layout. */
const FEW_OTHERS = /^\[(70×68|200×320|1×64|3×2050)\]/;

const fewProducts = (cases: readonly Case[]) =>
  cases.filter(({ name, args }, i) => {
    const { r, weightType } = args as { r?: number; weightType?: string };
    const isPlain = r === undefined && weightType === undefined;
    return isPlain ? FEW_PLAIN.test(name) : FEW_OTHERS.test(name) && i % 3 === 0;
  });

/**
 * Shorter tables for a software adapter, which takes seconds to compile a kernel: they keep each
 * part of the kernels' text.
 */
export const BRIEF = new Map<string, (all: readonly Case[]) => Case[] | Promise<Case[]>>([
  ["attention", ofFewHeads],
  ["attention_backward", ofFewHeads],
  ["attention_decode", ofFewHeads],
  ["matmul", fewProducts],
  ["stored weights", () => storedCases(true)],
]);
