/**
 * Notes the calls in which operations choose a kernel, while nothing is computed. The tuner
 * (kernels/tuning/) makes such calls again, with other contents, to measure the candidates.
 */
import type { RecordedCall } from "../../ops/common/recorded_call.ts";
import type { ChoicePoint, WebgpuTraits } from "../../ops/common/webgpu_op.ts";
import type { HostArray } from "../../tensor.ts";
import { type Block, WebgpuTensor } from "./tensor.ts";

/** Words of larger tensors are not kept: they are weights, and no tables. */
const MAX_WORDS = 2 ** 20;

export class Rehearsal {
  readonly calls = new Map<string, RecordedCall>();
  readonly #words = new WeakMap<Block, Uint32Array>();

  /** The host has written to a tensor. */
  wrote({ dtype, block, offset, length, isView }: WebgpuTensor, data: HostArray, at: number): void {
    if (dtype !== "u32" || !(data instanceof Uint32Array)) return;
    let words = this.#words.get(block);
    if (words === undefined) {
      // Of a view, the size of its block is not known; tables are written as whole tensors.
      if (isView || length > MAX_WORDS) return;
      this.#words.set(block, words = new Uint32Array(length));
    }
    if (offset + at + data.length <= words.length) words.set(data, offset + at);
  }

  /** An operation chooses its kernel; the largest call of a class is kept. */
  chooses<Args>(point: ChoicePoint<Args>, args: Args, traits: WebgpuTraits): void {
    const name = point.classOf(args, traits);
    if (name === null) return;
    const made = this.#record(point, name, args, traits), known = this.calls.get(name);
    if (known === undefined) this.calls.set(name, made);
    else if (elements(made) > elements(known)) {
      this.calls.set(name, { ...made, count: known.count });
    }
    this.calls.get(name)!.count++;
  }

  #record<Args>(
    { name: point, op }: ChoicePoint<Args>,
    name: string,
    args: Args,
    { computeDtype }: WebgpuTraits,
  ): RecordedCall {
    const scalars: RecordedCall["scalars"] = {}, tensors: RecordedCall["tensors"] = {};
    const blocks: Block[] = [];
    for (const [arg, value] of Object.entries(args as Record<string, unknown>)) {
      if (!(value instanceof WebgpuTensor)) {
        if (value !== undefined) scalars[arg] = value;
        continue;
      }
      const { block, dtype, offset, length } = value;
      if (!blocks.includes(block)) blocks.push(block);
      const words = this.#words.get(block)?.slice(offset, offset + length) ?? null;
      tensors[arg] = { dtype, block: blocks.indexOf(block), offset, length, words };
    }
    return { point, op, class: name, count: 0, computeDtype, scalars, tensors };
  }
}

const elements = ({ tensors }: RecordedCall) =>
  Object.values(tensors).reduce((sum, { length }) => sum + length, 0);

/** Runs `work` with a rehearsal. @returns its calls, in the order of their first occurrence */
export async function rehearsing(
  work: (rehearsal: Rehearsal) => Promise<void>,
): Promise<RecordedCall[]> {
  const rehearsal = new Rehearsal();
  await work(rehearsal);
  return [...rehearsal.calls.values()];
}
