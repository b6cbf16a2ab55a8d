/**
 * Makes a recorded call again on a device, with random contents: the same ones on every device, so
 * that results can be compared.
 */
import { randomStored } from "../weights/random_stored.ts";
import { RandomStream } from "../../core/philox.ts";
import type { Device } from "../device.ts";
import type { RecordedCall, RecordedTensor } from "../ops/common/recorded_call.ts";
import type { ChoicePoint } from "../ops/common/webgpu_op.ts";
import type { HostArray, Tensor } from "../tensor.ts";
import { PANEL } from "../weights/panel.ts";
import { isBlockType, storedWords } from "../weights/types.ts";

type Args = Record<string, unknown>;
type Point = ChoicePoint<Args>;

/** The tensors of a call on a device, until `free`. */
export interface RemadeCall {
  args: Args;
  /** Writes all contents anew, as they were at the beginning. */
  reset(): void;
  free(): void;
}

/** Numbers from −1 to 1. Tensors repeat them, each from another place. The length is a prime. */
const NOISE = noise(65_537);
/** Elements that are written at once. */
const PART = 2 ** 22;
/** Rows of a stored weight that are drawn; the others repeat them. */
const DRAWN_ROWS = 4 * PANEL;

function noise(length: number): Float32Array {
  const random = RandomStream.forPurpose(1, "init", "tuner");
  return Float32Array.from({ length }, () => random.uniform(-1, 1));
}

/** @throws RgxError when the device has not enough memory; nothing remains then */
export function remakeCall(call: RecordedCall, point: Point, device: Device): RemadeCall {
  const blocks = blocksOf(call), made: Tensor[] = [];
  const free = () => {
    for (const tensor of made.splice(0)) device.free(tensor);
  };
  try {
    blocks.forEach(({ dtype, length }, i) => {
      made.push(device.create(dtype, length, `tuner.${call.op}.${i}`));
    });
    const args: Args = { ...call.scalars };
    for (const [name, { block, offset, length }] of Object.entries(call.tensors)) {
      const { first, length: whole } = blocks[block]!;
      const isWhole = offset === first && length === whole;
      args[name] = isWhole ? made[block] : made[block]!.view(offset - first, length);
    }
    const stored = point.stored?.(args) ?? null;
    const words = stored === null ? null : storedPart(stored);
    const reset = () => {
      for (const [name, tensor] of Object.entries(call.tensors)) {
        const target = made[tensor.block]!, at = tensor.offset - blocks[tensor.block]!.first;
        write(device, target, at, tensor, stored?.name === name ? words : null);
      }
    };
    reset();
    return { args, reset, free };
  } catch (error) {
    free();
    throw error;
  }
}

/** The part of each block that the call uses. */
function blocksOf({ tensors }: RecordedCall) {
  const blocks: { dtype: "float" | "u32"; first: number; length: number }[] = [];
  for (const { block, dtype, offset, length } of Object.values(tensors)) {
    const known = blocks[block];
    if (known === undefined) blocks[block] = { dtype, first: offset, length };
    else {
      const end = Math.max(known.first + known.length, offset + length);
      const first = Math.min(known.first, offset);
      blocks[block] = { dtype, first, length: end - first };
    }
  }
  return blocks;
}

function write(
  device: Device,
  target: Tensor,
  at: number,
  { dtype, block, length, words }: RecordedTensor,
  stored: Uint32Array | null,
): void {
  if (dtype === "u32") {
    if (words !== null) device.write(target, words, at);
    else if (stored !== null) fill(device, target, at, length, stored, 0);
    return; // Other words are zeros: valid counters, indices and tokens.
  }
  fill(device, target, at, length, NOISE, 4093 * block);
}

/** Writes `length` elements that repeat `source` from element `from` on. */
function fill(
  device: Device,
  target: Tensor,
  at: number,
  length: number,
  source: Float32Array | Uint32Array,
  from: number,
): void {
  const part: HostArray = source instanceof Uint32Array
    ? new Uint32Array(Math.min(PART, length))
    : new Float32Array(Math.min(PART, length));
  for (let done = 0; done < length; done += part.length) {
    const count = Math.min(part.length, length - done);
    for (let i = 0; i < count;) {
      const begin = (from + done + i) % source.length;
      const piece = source.subarray(begin, Math.min(source.length, begin + count - i));
      part.set(piece as never, i);
      i += piece.length;
    }
    device.write(target, count === part.length ? part : part.subarray(0, count), at + done);
  }
}

/** Words of some rows of a weight, which can be repeated for further rows. */
function storedPart(
  { type, rows, length }: NonNullable<ReturnType<NonNullable<Point["stored"]>>>,
): Uint32Array {
  const random = RandomStream.forPurpose(1, "init", `tuner ${type}`);
  const drawn = Math.min(DRAWN_ROWS, isBlockType(type) ? Math.ceil(rows / PANEL) * PANEL : rows);
  return randomStored(random, type, drawn, length).subarray(0, storedWords(type, drawn, length));
}

/** The smaller call of the same kind; null where the operation has none. */
export function smallerCall(call: RecordedCall, point: Point): RecordedCall | null {
  // The rules of sizes read no tensor, only whether there is one.
  const small = point.small?.({ ...call.scalars, ...call.tensors }) ?? null;
  if (small === null) return null;
  const scalars = { ...call.scalars }, tensors: RecordedCall["tensors"] = {};
  const names = Object.keys(call.tensors);
  for (const [name, value] of Object.entries(small)) {
    const tensor = call.tensors[name];
    if (tensor === undefined) scalars[name] = value;
    else {
      const words = value instanceof Uint32Array ? value : null;
      const length = words?.length ?? value as number;
      tensors[name] = { dtype: tensor.dtype, block: 0, offset: 0, length, words };
    }
  }
  const missing = names.filter((name) => tensors[name] === undefined);
  if (missing.length > 0) throw new Error(`${call.op}: no small size of ${missing.join(", ")}`);
  names.forEach((name, block) => tensors[name]!.block = block);
  return { ...call, scalars, tensors };
}
