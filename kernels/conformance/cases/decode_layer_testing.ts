/**
 * Cases of a decoding layer, with sizes around its blocks of branches, register tiles and panels.
 */
import { BRANCH } from "../../ops/attention_decode/spec.ts";
import { packedLength } from "../../ops/matmul/spec.ts";
import { normals, stream } from "../../testing.ts";
import { type Case, ofLargest, testCase } from "../runner_testing.ts";
import { inPanels } from "./matmul_testing.ts";

/** [branches, d, f, heads, kvHeads, headDim] */
const SHAPES = [
  [1, 8, 12, 2, 1, 4],
  [5, 20, 33, 3, 3, 6],
  [16, 24, 40, 4, 2, 8],
  [37, 32, 70, 4, 1, 16],
  [29, 48, 40, 6, 2, 20],
  [150, 16, 24, 2, 2, 8],
] as const;

const MAX_NEW = 9;
const PROMPTS = [[0, 11], [11, 12], [12, 45]] as const;
/**
 * Prompts that begin at multiples of PANEL, with lengths around panels and tiles of attention. Each
 * prompt begins with the same rows as the one before it.
 */
const PACKED_PROMPTS = [[0, 11], [16, 17], [32, 64], [64, 97], [112, 208], [208, 325]] as const;

/** The begin of the previous prompt, and the number of rows that both prompts share. */
function sharedPrefix(
  prompts: readonly (readonly [number, number])[],
  prompt: number,
): [begin: number, rows: number] {
  const [begin, end] = prompts[prompt]!, [before, stop] = prompts[prompt - 1]!;
  return [before, Math.min(end - begin, stop - before)];
}

const toleranceOfTables = {
  keptH: ofLargest(1e-5),
  keptQ: ofLargest(1e-5),
  keptK: ofLargest(1e-5),
  keptV: ofLargest(1e-5),
  keptMid: ofLargest(1e-5),
  keptGate: ofLargest(1e-5),
  keptUp: ofLargest(1e-5),
};

export function decodeLayerCases(): Case[] {
  return [...casesOf(PROMPTS, false), ...casesOf(PACKED_PROMPTS, true)];
}

function casesOf(prompts: readonly (readonly [number, number])[], packs: boolean): Case[] {
  return SHAPES.map(([count, d, f, heads, kvHeads, headDim]) => {
    const name = `${count} branches, d ${d}, f ${f}, heads ${[heads, kvHeads, headDim]}` +
      (packs ? ", packed keys" : "");
    const random = stream(`decode_layer ${name}`);
    const width = heads * headDim, kv = kvHeads * headDim, promptRows = prompts.at(-1)![1];
    const weight = (n: number, k: number) => normals(random, packedLength(n, k), k ** -0.5);
    const branches = new Uint32Array(count * BRANCH.columns), cacheRow = new Uint32Array(count);
    const positions = new Uint32Array(count);
    for (let b = 0; b < count; b++) {
      const prompt = Math.floor(b * prompts.length / count), [begin, end] = prompts[prompt]!;
      const slot = count - 1 - b, length = 1 + random.below(MAX_NEW);
      const shared = packs && prompt > 0 ? sharedPrefix(prompts, prompt) : [0, 0];
      branches.set([begin, end, slot, length, ...shared], b * BRANCH.columns);
      cacheRow[b] = slot * MAX_NEW + length - 1;
      positions[b] = end - begin + length - 1;
    }
    const prefixK = normals(random, promptRows * kv), prefixV = normals(random, promptRows * kv);
    for (let prompt = 1; packs && prompt < prompts.length; prompt++) {
      const [from, rows] = sharedPrefix(prompts, prompt), to = prompts[prompt]![0];
      for (const cache of [prefixK, prefixV]) {
        cache.copyWithin(to * kv, from * kv, (from + rows) * kv);
      }
    }
    const table = (promptRows + MAX_NEW) * headDim / 2;
    const kept = (d: number) => normals(random, (count + 3) * d);
    const tables = {
      keptRow: Uint32Array.from({ length: count }, (_, b) => count + 2 - b),
      keptH: kept(d),
      keptQ: kept(width),
      keptK: kept(kv),
      keptV: kept(kv),
      keptMid: kept(d),
      keptGate: kept(f),
      keptUp: kept(f),
    };
    return testCase("decode_layer", name, {
      x: normals(random, count * d),
      inputNorm: normals(random, d),
      wq: weight(width, d),
      wk: weight(kv, d),
      wv: weight(kv, d),
      wo: weight(d, width),
      postNorm: normals(random, d),
      wGate: weight(f, d),
      wUp: weight(f, d),
      wDown: weight(d, f),
      cos: normals(random, table),
      sin: normals(random, table),
      positions,
      cacheRow,
      branches,
      prefixK,
      ...(packs ? { packedPrefixK: inPanels(prefixK, promptRows, kv) } : {}),
      prefixV,
      branchK: normals(random, count * MAX_NEW * kv),
      branchV: normals(random, count * MAX_NEW * kv),
      ...(packs ? tables : {}),
      count,
      maxNew: MAX_NEW,
      d,
      f,
      heads,
      kvHeads,
      headDim,
      scale: 1 / Math.sqrt(headDim),
      eps: 1e-5,
    }, {
      x: ofLargest(1e-5),
      branchK: ofLargest(1e-5),
      branchV: ofLargest(1e-5),
      ...(packs ? toleranceOfTables : {}),
    });
  });
}
