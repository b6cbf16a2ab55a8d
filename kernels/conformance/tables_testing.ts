/** The cases of the conformance suite, one table for each operation or family of operations. */
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
import type { Case } from "./runner.ts";

export const TABLES: readonly [name: string, cases: () => Case[] | Promise<Case[]>][] = [
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
export const BRIEF = new Map([["stored weights", () => storedCases(true)]]);
