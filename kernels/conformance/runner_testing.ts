/**
 * Runs the cases of the conformance suite. A case has host arrays in place of tensors. The same
 * array for two arguments means the same tensor (aliasing).
 */
import assert from "node:assert/strict";
import type { Device } from "../device.ts";
import type { HostArray, Tensor } from "../tensor.ts";
import type { ComputeDtype } from "../ops/common/compute_dtype.ts";
import type { OpName, Ops } from "../ops/ops.ts";
import { createReferenceDevice } from "../devices/reference/device.ts";
import { tensorsOf } from "../validation/validate.ts";
import { assertWithin, dtypeOf, largest, sameBits } from "../testing.ts";

/** The arguments of an operation, with host arrays in place of tensors. */
export type HostArgs<K extends OpName> = {
  [P in keyof Ops[K]]: Exclude<Ops[K][P], undefined> extends Tensor ? HostArray : Ops[K][P];
};

/**
 * The maximum absolute error of an element, or a function that computes it from the expected data.
 */
export type Bound = number | ((expected: HostArray) => number | ArrayLike<number>);

export interface Case<K extends OpName = OpName> {
  op: K;
  /** Shapes and variant, for messages. It also seeds the data of some cases. */
  name: string;
  args: HostArgs<K>;
  /** The error bound of each output. All other tensors must not change in any bit. */
  outputs: { [P in keyof Ops[K]]?: Bound };
}

/** Makes a case. The arguments are checked against the type of the operation. */
export function testCase<K extends OpName>(
  op: K,
  name: string,
  args: HostArgs<K>,
  outputs: Case<K>["outputs"],
): Case {
  return { op, name, args, outputs } as unknown as Case;
}

export const exact: Bound = 0;

/** The bound of each element: `relative`·|expected| + `absolute`. */
export function relative(relative = 1e-6, absolute = 1e-7): Bound {
  return (expected) => Float64Array.from(expected, (x) => relative * Math.abs(x) + absolute);
}

/** The bound `relative`·max(`floor`, largest magnitude of the output). */
export function ofLargest(relative = 5e-6, floor = 1): Bound {
  return (expected) => relative * Math.max(floor, largest(expected));
}

/** How tensors are created: whole, or as views of larger ones with guard words around the view. */
export type Placement = "whole" | "view";

/** Guard words before and after a view: VIEW_ALIGNMENT, and more than the largest vector. */
const GUARD = 64;
/** A NaN as a float, so that reading it spoils a result, and as an integer no valid index. */
const GUARD_WORD = 0xffc0_1234;

/** Runs a case's operation once. @returns the content of every tensor argument after it */
export async function execute(
  device: Device,
  { op, args }: Pick<Case, "op" | "args">,
  placement: Placement = "whole",
): Promise<Map<string, HostArray>> {
  const owned: Tensor[] = [];
  const uploaded = new Map<HostArray, Tensor>();
  const concrete: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(args)) {
    if (!isHostArray(value)) {
      concrete[name] = value;
      continue;
    }
    let tensor = uploaded.get(value);
    if (tensor === undefined) {
      const guards = placement === "view" ? GUARD : 0;
      const whole = device.create(dtypeOf(value), value.length + 2 * guards, name);
      owned.push(whole);
      if (guards > 0) device.write(whole, guarded(value));
      tensor = guards > 0 ? whole.view(GUARD, value.length) : whole;
      device.write(tensor, value);
      uploaded.set(value, tensor);
    }
    concrete[name] = tensor;
  }
  device.run(op, concrete as unknown as Ops[OpName]);
  const after = new Map<string, HostArray>();
  for (const [name, value] of Object.entries(args)) {
    if (isHostArray(value)) after.set(name, await device.read(uploaded.get(value)!));
  }
  if (placement === "view") {
    for (const whole of owned) await assertGuards(device, whole, op);
  }
  for (const tensor of owned) device.free(tensor);
  return after;
}

function isHostArray(value: unknown): value is HostArray {
  return value instanceof Float32Array || value instanceof Float64Array ||
    value instanceof Uint32Array;
}

/** The initial content around a view. */
function guarded(data: HostArray): HostArray {
  const words = new Uint32Array(data.length + 2 * GUARD).fill(GUARD_WORD);
  return data instanceof Uint32Array ? words : new Float32Array(words.buffer);
}

async function assertGuards(device: Device, whole: Tensor, op: string): Promise<void> {
  const before = await device.read(whole, 0, GUARD);
  const after = await device.read(whole, whole.length - GUARD, GUARD);
  for (const guard of [before, after]) {
    // In float64 a NaN keeps no word.
    const intact = guard instanceof Float64Array
      ? guard.every(Number.isNaN)
      : new Uint32Array(guard.buffer, guard.byteOffset, GUARD).every((word) => word === GUARD_WORD);
    assert.ok(intact, `${op} wrote outside its argument "${whole.label}"`);
  }
}

/** What a case must give: the results of the float64 reference, and the bounds of its outputs. */
interface Expectation {
  results: ReadonlyMap<string, HostArray>;
  bounds: ReadonlyMap<string, number | ArrayLike<number>>;
}

/** Computed once for all devices. */
const expectations = {
  float32: new WeakMap<Case, Promise<Expectation>>(),
  bfloat16: new WeakMap<Case, Promise<Expectation>>(),
  float16: new WeakMap<Case, Promise<Expectation>>(),
};

function expectation(test: Case, computeDtype: ComputeDtype): Promise<Expectation> {
  let found = expectations[computeDtype].get(test);
  if (found === undefined) {
    expectations[computeDtype].set(test, found = expect(test, computeDtype));
  }
  return found;
}

async function expect(test: Case, computeDtype: ComputeDtype): Promise<Expectation> {
  using reference = createReferenceDevice({ float: "f64" });
  reference.computeDtype = computeDtype;
  // The check of the operation knows what it writes.
  const declared = tensorsOf(test.op, test.args as unknown as Ops[OpName]);
  const written = declared.filter(({ isOutput }) => isOutput).map(({ name }) => name);
  assert.deepEqual(written.sort(), Object.keys(test.outputs).sort(), `outputs of ${test.op}`);
  const results = await execute(reference, test);
  const bounds = Object.entries(test.outputs as Record<string, Bound>).map((
    [name, bound],
  ) => [name, typeof bound === "function" ? bound(results.get(name)!) : bound] as const);
  return { results, bounds: new Map(bounds) };
}

/**
 * Compares a case on a device with the float64 reference, whose products are rounded in the same
 * places. A second run, with views, must give the same bits.
 * @returns the content of all tensor arguments after the operation
 */
export async function checkCase(device: Device, test: Case): Promise<Map<string, HostArray>> {
  const what = `${test.op} ${test.name} on ${device.name}`;
  const { results, bounds } = await expectation(test, device.computeDtype);
  const found = await execute(device, test);
  const args = test.args as unknown as Record<string, unknown>;
  const written = [...bounds.keys()].map((name) => args[name]);
  for (const [name, value] of found) {
    const bound = bounds.get(name);
    if (bound !== undefined) {
      assertWithin(value, results.get(name)!, bound, `${what}: ${name}`);
    } else if (!written.includes(args[name])) {
      assert.ok(sameBits(value, args[name] as HostArray), `${what} changed its input ${name}`);
    }
  }
  const again = await execute(device, test, "view");
  for (const [name, value] of found) {
    const same = sameBits(value, again.get(name)!);
    assert.ok(same, `${what}: other bits in ${name} a second time, as views`);
  }
  return found;
}
