/** Damaged files for tests: each must be read, or refused with an RgxError. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { RgxError } from "../core/errors.ts";
import { cases } from "../tests/cases.ts";

/**
 * Whether the work succeeds; false when it is refused.
 * @param where what the message of a refusal begins with
 */
export async function accepted(work: () => unknown, where = ""): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    assert.ok(error.message.startsWith(where), error.message);
    return false;
  }
}

/**
 * Tries `count` damaged things, of which more than a share must be refused.
 * @param read whether one is read
 */
export async function mostAreRefused<T>(
  damaged: fc.Arbitrary<T>,
  read: (one: T) => boolean | Promise<boolean>,
  { count = 2_000, seed = 12, share = 1 / 2 }: { count?: number; seed?: number; share?: number },
): Promise<void> {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(damaged, async (one) => {
      if (!await read(one)) refused++;
    }),
    { numRuns: cases(count), seed },
  );
  assert.ok(refused > cases(count) * share, `only ${refused} were refused`);
}

/** A place where something is cut out and something else put in. */
export interface Edit<Part> {
  at: number;
  out: number;
  put: Part;
}

/** Bytes with 1 to `most` edits. */
export function editedBytes(
  whole: Uint8Array,
  edit: fc.Arbitrary<Edit<readonly number[]>>,
  most: number,
): fc.Arbitrary<Uint8Array> {
  return fc.array(edit, { minLength: 1, maxLength: most }).map((edits) =>
    edits.reduce<Uint8Array>((bytes, { at, out, put }) => {
      const begin = Math.min(at, bytes.length), end = Math.min(bytes.length, begin + out);
      return Uint8Array.from([...bytes.subarray(0, begin), ...put, ...bytes.subarray(end)]);
    }, whole)
  );
}

/** A text with 1 to `most` edits. */
export function editedText(
  whole: string,
  puts: readonly string[],
  most: number,
): fc.Arbitrary<string> {
  const edit: fc.Arbitrary<Edit<string>> = fc.record({
    at: fc.nat(whole.length),
    out: fc.oneof(fc.nat(2), fc.nat(60)),
    put: fc.constantFrom(...puts),
  });
  return fc.array(edit, { minLength: 1, maxLength: most }).map((edits) =>
    edits.reduce((text, { at, out, put }) => text.slice(0, at) + put + text.slice(at + out), whole)
  );
}
