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
  { count = 500, seed = 12, share = 1 / 2 }: { count?: number; seed?: number; share?: number },
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

/**
 * Bytes with one to three edits: some are cut out, mostly few, and others put in, mostly near the
 * beginning.
 * @param puts what may be put in besides up to three arbitrary bytes
 */
export function editedBytes(
  whole: Uint8Array,
  puts: readonly (string | readonly number[])[],
): fc.Arbitrary<Uint8Array> {
  const encoder = new TextEncoder();
  const known = puts.map((put) => typeof put === "string" ? encoder.encode(put) : put);
  const edit = fc.record({
    at: fc.oneof(fc.nat(20), fc.nat(Math.min(500, whole.length)), fc.nat(whole.length)),
    out: fc.oneof({ weight: 8, arbitrary: fc.nat(2) }, fc.nat(40), fc.nat(whole.length)),
    put: fc.oneof(fc.array(fc.nat(255), { maxLength: 3 }), fc.constantFrom(...known)),
  });
  return fc.array(edit, { minLength: 1, maxLength: 3 }).map((edits) =>
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
  const edit = fc.record({
    at: fc.nat(whole.length),
    out: fc.oneof(fc.nat(2), fc.nat(60)),
    put: fc.constantFrom(...puts),
  });
  return fc.array(edit, { minLength: 1, maxLength: most }).map((edits) =>
    edits.reduce((text, { at, out, put }) => text.slice(0, at) + put + text.slice(at + out), whole)
  );
}
