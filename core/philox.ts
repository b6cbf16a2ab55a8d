/**
 * Philox4x32-10, the counter-based generator of all random numbers in rgx (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011). A random number depends only on its key and its
 * counter. It does not depend on earlier draws, on the batch, on threads, or on interruptions.
 *
 * The layout of the counter must never change; `philox_test.ts` checks it.
 */

/** The purpose of a stream: the top byte of counter word 3. */
const PURPOSE = {
  sample: 1,
  task: 2,
  dropout: 3,
  init: 4,
  shuffle: 5,
  split: 6,
  rounding: 7,
  simulation: 8,
  environment: 9,
} as const;

/** The number of a data split in the counter of a task item. */
export const SPLIT = { train: 0, validation: 1, test: 2 } as const;
/** Disjoint sets of problems for training, for choices during training, and for final results. */
export type Split = keyof typeof SPLIT;

/**
 * High 32 bits of the product of two u32, as a signed number: signed numbers stay integers for V8.
 * No sum exceeds 32 bits.
 */
function mulHigh(a: number, b: number): number {
  const al = a & 0xffff, ah = a >>> 16, bl = b & 0xffff, bh = b >>> 16;
  const u = Math.imul(ah, bl) + (Math.imul(al, bl) >>> 16) | 0;
  const w = Math.imul(al, bh) + (u & 0xffff) | 0;
  return Math.imul(ah, bh) + (u >>> 16) + (w >>> 16) | 0;
}

/** Writes the four u32 words of counter (c0..c3) and key (k0, k1) into `out`. */
export function philox4x32(
  out: Uint32Array,
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  k0: number,
  k1: number,
): void {
  for (let round = 0; round < 10; round++) {
    const hi0 = mulHigh(0xd2511f53, c0), lo0 = Math.imul(0xd2511f53, c0);
    const hi1 = mulHigh(0xcd9e8d57, c2), lo1 = Math.imul(0xcd9e8d57, c2);
    c0 = hi1 ^ c1 ^ k0;
    c1 = lo1;
    c2 = hi0 ^ c3 ^ k1;
    c3 = lo0;
    k0 = k0 + 0x9e3779b9 | 0;
    k1 = k1 + 0xbb67ae85 | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** A seed as two key words. @param seed a non-negative safe integer */
export function seedWords(seed: number): [low: number, high: number] {
  return [seed >>> 0, Math.floor(seed / 0x1_0000_0000) >>> 0];
}

/** 32-bit FNV-1a of the UTF-8 bytes of a text. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash >>> 0;
}

const taskHashes = new Map<string, number>();

/** `fnv1a` of a task's name, cached because every entry needs it. */
function taskHash(name: string): number {
  let hash = taskHashes.get(name);
  if (hash === undefined) taskHashes.set(name, hash = fnv1a(name));
  return hash;
}

/** Uniform in (0, 1), both ends excluded, from the upper 23 bits of a word; exact in f32. */
export function uniform23(word: number): number {
  return ((word >>> 9) + 0.5) * 2 ** -23;
}

/** Counter words c1 to c3 of a sampled token; c0 = 0. @param promptId in the whole run */
export function sampleCounter(
  promptId: number,
  branch: number,
  position: number,
): [c1: number, c2: number, c3: number] {
  return [
    ((branch << 20) | position) >>> 0,
    promptId >>> 0,
    ((PURPOSE.sample << 24) | Math.floor(promptId / 0x1_0000_0000)) >>> 0,
  ];
}

/**
 * The training phase of a dropout mask, since the numbers of prompts start again in each phase.
 * `grpo` is the first pass over a batch of completions; further passes use the following numbers,
 * so each pass has new masks.
 */
export const DROPOUT_PASS = { supervised: 0, grpo: 1 } as const;

/**
 * Counter words c1 to c3 of a row's dropout masks; c0 holds the place in the model and the column
 * (kernels/ops/dropout/spec.ts).
 * @param pass see {@link DROPOUT_PASS}; < 256
 * @param promptId number of the prompt in the pass; < 2^48
 */
export function dropoutCounter(
  pass: number,
  promptId: number,
  branch: number,
  position: number,
): [c1: number, c2: number, c3: number] {
  return [
    ((branch << 20) | position) >>> 0,
    promptId >>> 0,
    ((PURPOSE.dropout << 24) | (pass << 16) | Math.floor(promptId / 0x1_0000_0000)) >>> 0,
  ];
}

/** Counter words c1 to c3 of a weight's rounding (ops/bf16_weights). @param step the optimizer's */
export function roundingCounter(pass: number, step: number): [c1: number, c2: number, c3: number] {
  return [step >>> 0, pass, (PURPOSE.rounding << 24) >>> 0];
}

/** Output buffer of `philox4x32`. */
const BLOCK = new Uint32Array(4);

/** A sequence of draws for one (seed, c1, c2, c3): blocks of four words for c0 = 0, 1, … */
export class RandomStream {
  // Separate fields: creating an array takes longer than computing the first words. The words are
  // stored as signed numbers, which are more often small integers for V8.
  readonly #k0: number;
  readonly #k1: number;
  #w1 = 0;
  #w2 = 0;
  #w3 = 0;
  #left = 0;
  #c0 = 0;
  /** A stream is a function of a seed (an integer) and three counters (32 bits each). */
  constructor(
    seed: number,
    private readonly c1: number,
    private readonly c2: number,
    private readonly c3: number,
  ) {
    const [low, high] = seedWords(seed);
    this.#k0 = low;
    this.#k1 = high;
  }

  /** Arguments of the constructor that give the same stream again, for example in a worker. */
  get origin(): [seed: number, c1: number, c2: number, c3: number] {
    return [this.#k1 * 0x1_0000_0000 + this.#k0, this.c1, this.c2, this.c3];
  }

  /** The stream of entry `index` of a task: the only source of that entry's random choices. */
  static forTask(seed: number, split: Split, taskName: string, index: number): RandomStream {
    return new RandomStream(
      seed,
      index >>> 0,
      taskHash(taskName),
      ((PURPOSE.task << 24) | (Math.floor(index / 0x1_0000_0000) << 2) | SPLIT[split]) >>> 0,
    );
  }

  /** The stream of a named purpose, for example `("init", "model.embed_tokens.weight")`. */
  static forPurpose(
    seed: number,
    purpose: keyof typeof PURPOSE,
    name: string,
    index = 0,
  ): RandomStream {
    return new RandomStream(seed, index >>> 0, fnv1a(name), (PURPOSE[purpose] << 24) >>> 0);
  }

  /** A uniform 32-bit word. */
  u32(): number {
    switch (this.#left--) {
      case 3:
        return this.#w1 >>> 0;
      case 2:
        return this.#w2 >>> 0;
      case 1:
        return this.#w3 >>> 0;
    }
    philox4x32(BLOCK, this.#c0++, this.c1, this.c2, this.c3, this.#k0, this.#k1);
    this.#w1 = BLOCK[1]! | 0;
    this.#w2 = BLOCK[2]! | 0;
    this.#w3 = BLOCK[3]! | 0;
    this.#left = 3;
    return BLOCK[0]!;
  }

  /** Uniform in [0, 1) with 53 bits. */
  random(): number {
    const high = this.u32() >>> 5, low = this.u32() >>> 6;
    return (high * 0x4000000 + low) * 2 ** -53;
  }

  /** Uniform real in [low, high). */
  uniform(low: number, high: number): number {
    return low + (high - low) * this.random();
  }

  /** Uniform integer in [0, n), without bias, for 1 ≤ n ≤ 2^53. */
  below(n: number): number {
    if (!(n >= 1 && n <= Number.MAX_SAFE_INTEGER && Number.isInteger(n))) {
      throw new RangeError(`below(n) needs an integer 1 ≤ n ≤ 2^53 − 1, got ${n}`);
    }
    if (n <= 0x1_0000_0000) {
      const limit = Math.floor(0x1_0000_0000 / n) * n;
      for (;;) {
        const word = this.u32();
        // This is word % n; the operator % is slow for large numbers.
        if (word < limit) return word - Math.floor(word / n) * n;
      }
    }
    const limit = Math.floor(2 ** 53 / n) * n;
    for (;;) {
      const value = (this.u32() >>> 6) * 0x8000000 + (this.u32() >>> 5);
      if (value < limit) return value % n;
    }
  }

  /** Uniform integer in [low, high], both ends included (the U(a, b) of the task pages). */
  int(low: number, high: number): number {
    if (high < low) throw new RangeError(`int(low, high) needs low ≤ high, got ${low}, ${high}`);
    return low + this.below(high - low + 1);
  }

  /** True with probability p. */
  chance(p: number): boolean {
    return this.random() < p;
  }

  /** One element, uniformly. */
  choice<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** One element with probability proportional to its weight. */
  weighted<T>(items: readonly T[], weights: readonly number[]): T {
    let total = 0;
    for (const w of weights) total += w;
    let at = this.random() * total;
    for (let i = 0; i < items.length; i++) {
      at -= weights[i]!;
      if (at < 0) return items[i]!;
    }
    // Because of rounding, no element may have been chosen: then the last positive weight wins.
    for (let i = items.length - 1; i >= 0; i--) if (weights[i]! > 0) return items[i]!;
    throw new RangeError("weighted() needs a positive weight");
  }

  /** Fisher–Yates, in place; returns the array. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      const t = items[i]!;
      items[i] = items[j]!;
      items[j] = t;
    }
    return items;
  }

  /** k distinct elements, in random order. */
  sample<T>(items: readonly T[], k: number): T[] {
    if (k > items.length) throw new RangeError(`sample of ${k} from ${items.length} elements`);
    const pool = items.slice();
    for (let i = 0; i < k; i++) {
      const j = i + this.below(pool.length - i);
      const t = pool[i]!;
      pool[i] = pool[j]!;
      pool[j] = t;
    }
    return pool.slice(0, k);
  }

  /** Standard normal (Box–Muller). Only one of the pair is used: each draw takes two `random()`. */
  normal(): number {
    const u = 1 - this.random();
    return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * this.random());
  }
}
