/** Keys and values in bfloat16, on every device but cards, which have none. */
import assert from "node:assert/strict";
import { narrowBF16, widenBF16 } from "../../core/half_floats.ts";
import type { HostArray } from "../tensor.ts";
import { normals, sameBits, stream } from "../testing.ts";
import { attentionDecodeCases } from "./cases/attention_testing.ts";
import { casesFor, DEVICES_WITH_KERNELS, testOnEveryDevice } from "./devices_testing.ts";
import { type Case, execute } from "./runner_testing.ts";

const CPUS = DEVICES_WITH_KERNELS.filter(({ isCard }) => !isCard);

const wordsOf = (halves: Uint16Array) => new Uint32Array(halves.buffer, 0, halves.length / 2);

testOnEveryDevice(
  "rows are rounded to the nearest, and others of the table stay",
  async (device) => {
    for (const [rows, d] of [[0, 6], [1, 2], [5, 18], [7, 192], [300, 64]] as const) {
      const src = normals(stream(`halves ${rows} ${d}`), rows * d, 3),
        at = (row: number) => 2 * row + 1;
      const table = new Uint32Array((2 * rows + 1) * d / 2).fill(0x1234_5678);
      const expected = new Uint16Array(table.slice().buffer);
      for (let row = 0; row < rows; row++) {
        expected.set(narrowBF16(src.subarray(row * d, (row + 1) * d)), at(row) * d);
      }
      const index = Uint32Array.from({ length: rows }, (_, row) => at(row));
      const args = { src, index, table, rows, d, bf16: true };
      const found = (await execute(device, { op: "scatter_rows", args })).get("table")!;
      assert.ok(sameBits(found, wordsOf(expected)), `${rows} × ${d}`);
      const words = {
        ...args,
        src: table.subarray(0, rows * d),
        table: new Uint32Array(args.table.length * 2),
      };
      const moved = await execute(device, { op: "scatter_rows", args: { ...words, bf16: false } });
      for (let row = 0; row < rows; row++) {
        const copied = moved.get("table")!.subarray(at(row) * d, (at(row) + 1) * d);
        assert.ok(
          sameBits(copied, words.src.subarray(row * d, (row + 1) * d)),
          `words ${rows} × ${d}`,
        );
      }
    }
  },
  CPUS,
);

let cases: Case[] | undefined;

testOnEveryDevice(
  "attention to rounded keys has the bits of floats that are rounded",
  async (device) => {
    for (const test of casesFor(cases ??= attentionDecodeCases(), device)) {
      const inFloats: Record<string, HostArray> = {}, inHalves: Record<string, HostArray> = {};
      for (const name of ["prefixK", "prefixV", "branchK", "branchV"]) {
        const halves = narrowBF16((test.args as Record<string, Float32Array>)[name]!);
        inFloats[name] = widenBF16(halves);
        inHalves[name] = wordsOf(halves);
      }
      const of = async (caches: object) =>
        (await execute(device, { ...test, args: { ...test.args, ...caches } } as Case)).get("out")!;
      const expected = await of(inFloats), found = await of({ ...inHalves, bf16: true });
      assert.ok(sameBits(found, expected), test.name);
    }
  },
  CPUS,
);
