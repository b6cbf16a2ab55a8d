/** Values on the device that each rank has updated a part of: all ranks get all of them. */
import type { Device } from "../../kernels/device.ts";
import type { HostArray, Tensor } from "../../kernels/tensor.ts";
import type { Ranks } from "../../ranks/ranks.ts";
import { consecutive, partOf } from "../../ranks/transport.ts";
import { WINDOW } from "../../ranks/vector_sum.ts";

/** Elements of a tensor. */
export interface Segment {
  tensor: Tensor;
  from: number;
  count: number;
}

/**
 * Each rank sends its segments to all others, which write them to the same places.
 * @param segments of each rank, in an order that all ranks know
 */
export async function shareSegments(
  device: Device,
  ranks: Ranks,
  segments: readonly (readonly Segment[])[],
): Promise<void> {
  const each = device.float === "f64" ? 8 : 4, step = Math.ceil(WINDOW / ranks.size);
  const count = (list: readonly Segment[]) => list.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(...segments.map(count));
  for (let at = 0; at < most; at += step) {
    const now = segments.map((list) => window(list, at, step));
    const parts = consecutive(now.map((list) => each * count(list)));
    // The places of a rank's segments in its part, one after the other.
    const arrays = (rank: number) => {
      const { buffer, byteOffset } = partOf(parts, rank);
      let next = byteOffset;
      return now[rank]!.map(({ tensor, from, count }) => {
        const data = arrayFor(device, tensor, buffer as ArrayBuffer, next, count);
        next += each * count;
        return { tensor, from, count, data };
      });
    };
    for (const { tensor, from, count, data } of arrays(ranks.rank)) {
      data.set(await device.read(tensor, from, count));
    }
    await ranks.gather(parts);
    for (let rank = 0; rank < ranks.size; rank++) {
      if (rank === ranks.rank) continue;
      for (const { tensor, from, data } of arrays(rank)) device.write(tensor, data, from);
    }
  }
}

/** Elements [begin, begin + length) of segments that follow one another. */
function window(segments: readonly Segment[], begin: number, length: number): Segment[] {
  const found: Segment[] = [];
  let at = 0;
  for (const { tensor, from, count } of segments) {
    const first = Math.max(0, begin - at), last = Math.min(count, begin + length - at);
    if (first < last) found.push({ tensor, from: from + first, count: last - first });
    at += count;
  }
  return found;
}

function arrayFor(
  { float }: Device,
  { dtype }: Tensor,
  buffer: ArrayBuffer,
  offset: number,
  length: number,
): HostArray {
  if (dtype === "u32") return new Uint32Array(buffer, offset, length);
  return float === "f64"
    ? new Float64Array(buffer, offset, length)
    : new Float32Array(buffer, offset, length);
}
