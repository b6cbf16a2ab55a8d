/**
 * What a subgroup's accesses cost: conflicts of banks in workgroup memory, and how much of the
 * sectors that are read from buffers and written to them is used. The rules are those of NVIDIA's
 * cards: 32 invocations, 32 banks of 4 bytes, an access in parts of 128 bytes, sectors of 32 bytes.
 */
import type { Dispatch } from "../../kernels/ops/common/webgpu_op.ts";
import { type Access, type Invocation, runInvocation } from "./machine.ts";
import { parseWgsl } from "./syntax.ts";

const LANES = 32, BANKS = 32, PART_BYTES = 128, SECTOR = 32;

export interface Traffic {
  /** Cycles of workgroup memory over those without conflicts; 1 where there is none. */
  conflicts: number;
  /** Bytes that invocations read (write) over those of the sectors; null without accesses. */
  reads: number | null;
  writes: number | null;
  /** Accesses of the subgroup to workgroup memory and to buffers. */
  shared: number;
  global: number;
}

/**
 * Runs the first subgroup of a workgroup.
 * @param text the complete WGSL
 * @param workgroup its place in the grid; default: the middle
 */
export function trafficOf(
  text: string,
  { groups: [x, y = 1], params = {} }: Pick<Dispatch, "groups" | "params">,
  tables: NonNullable<Invocation["tables"]> = {},
  workgroup: [number, number] = [x >> 1, y >> 1],
): Traffic {
  const module = parseWgsl(text), lanes = Math.min(LANES, module.invocations);
  const together = new Map<string, Access[]>();
  for (let local = 0; local < lanes; local++) {
    const invocation = { params, workgroup, groups: [x, y] as [number, number], local, tables };
    for (const access of runInvocation(module, invocation)) {
      const key = `${access.site} ${access.time} ${access.writes}`, others = together.get(key);
      if (others === undefined) together.set(key, [access]);
      else others.push(access);
    }
  }
  const sum = { cycles: 0, ideal: 0, shared: 0, global: 0 };
  const bytes = { reads: [0, 0], writes: [0, 0] } as Record<"reads" | "writes", [number, number]>;
  for (const accesses of together.values()) {
    const [first] = accesses;
    if (first!.space === "workgroup") {
      const { cycles, parts } = bankCycles(accesses);
      sum.cycles += cycles;
      sum.ideal += parts;
      sum.shared++;
    } else {
      const [used, moved] = sectorBytes(accesses), of = bytes[first!.writes ? "writes" : "reads"];
      of[0] += used;
      of[1] += moved;
      sum.global++;
    }
  }
  const share = ([used, moved]: [number, number]) => moved === 0 ? null : used / moved;
  return {
    conflicts: sum.ideal === 0 ? 1 : sum.cycles / sum.ideal,
    reads: share(bytes.reads),
    writes: share(bytes.writes),
    shared: sum.shared,
    global: sum.global,
  };
}

/** Cycles of an access to workgroup memory: in each part, the words that share a bank. */
export function bankCycles(accesses: readonly Pick<Access, "offset" | "bytes">[]) {
  const lanesAtOnce = PART_BYTES / accesses[0]!.bytes;
  let cycles = 0, parts = 0;
  for (let begin = 0; begin < accesses.length; begin += lanesAtOnce) {
    const banks = new Map<number, Set<number>>();
    for (const { offset, bytes } of accesses.slice(begin, begin + lanesAtOnce)) {
      for (let word = offset / 4; word < (offset + bytes) / 4; word++) {
        const bank = word % BANKS;
        banks.set(bank, (banks.get(bank) ?? new Set()).add(word));
      }
    }
    cycles += Math.max(...[...banks.values()].map((words) => words.size));
    parts++;
  }
  return { cycles, parts };
}

/** Distinct bytes of an access to buffers, and the bytes of the sectors that they are in. */
export function sectorBytes(
  accesses: readonly Pick<Access, "offset" | "bytes">[],
): [used: number, moved: number] {
  const words = new Set<number>(), sectors = new Set<number>();
  for (const { offset, bytes } of accesses) {
    for (let at = offset; at < offset + bytes; at += 4) {
      words.add(at);
      sectors.add(Math.floor(at / SECTOR));
    }
  }
  return [4 * words.size, SECTOR * sectors.size];
}
