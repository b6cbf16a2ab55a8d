/**
 * The tokens of a vocabulary as a tree of their bytes, in which tokens with the same beginning
 * share a path.
 */
import type { Tokenizer } from "../tokenizers/types.ts";

export interface Vocabulary {
  /** Number of words of a bit set of tokens. */
  words: number;
  /** By node: the byte that leads to it. Nodes are in the order of a walk, parents first. */
  bytes: Uint8Array;
  /** By node: number of bytes of its path. */
  depths: Uint8Array;
  /** By node: the first node that is not below it. */
  ends: Uint32Array;
  /** By node, and one more: where its tokens begin in `tokens`. */
  starts: Uint32Array;
  tokens: Uint32Array;
}

/** Tokens with more bytes are never used. */
const MAX_TOKEN_BYTES = 255;

/** Trees are kept as long as their tokenizers. */
const known = new WeakMap<Tokenizer, Map<number, Vocabulary>>();

/** The tree of a tokenizer's tokens. Tokens without a text of their own are not in it. */
export function vocabularyOf(tokenizer: Tokenizer, vocabSize: number): Vocabulary {
  let trees = known.get(tokenizer);
  if (trees === undefined) known.set(tokenizer, trees = new Map());
  let tree = trees.get(vocabSize);
  if (tree === undefined) trees.set(vocabSize, tree = makeVocabulary(tokenizer, vocabSize));
  return tree;
}

function makeVocabulary(tokenizer: Tokenizer, vocabSize: number): Vocabulary {
  const sorted: { id: number; bytes: Uint8Array }[] = [];
  for (let id = 0; id < Math.min(vocabSize, tokenizer.vocabSize); id++) {
    const bytes = tokenizer.tokenBytes(id);
    if (bytes === null || bytes.length === 0 || bytes.length > MAX_TOKEN_BYTES) continue;
    sorted.push({ id, bytes });
  }
  sorted.sort((a, b) => compare(a.bytes, b.bytes) || a.id - b.id);
  const bytes: number[] = [], depths: number[] = [], starts: number[] = [], tokens: number[] = [];
  let before: Uint8Array = new Uint8Array();
  for (const { id, bytes: path } of sorted) {
    let shared = 0;
    while (shared < before.length && before[shared] === path[shared]) shared++;
    for (let depth = shared; depth < path.length; depth++) {
      bytes.push(path[depth]!);
      depths.push(depth + 1);
      starts.push(tokens.length);
    }
    tokens.push(id);
    before = path;
  }
  const count = bytes.length, ends = new Uint32Array(count), open: number[] = [];
  for (let node = 0; node <= count; node++) {
    const depth = node < count ? depths[node]! : 0;
    while (open.length > 0 && depths[open.at(-1)!]! >= depth) ends[open.pop()!] = node;
    if (node < count) open.push(node);
  }
  return {
    words: Math.ceil(vocabSize / 32),
    bytes: Uint8Array.from(bytes),
    depths: Uint8Array.from(depths),
    ends,
    starts: Uint32Array.from([...starts, tokens.length]),
    tokens: Uint32Array.from(tokens),
  };
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
