/**
 * One call of an operation during its check. The checks in validate.ts and matmul.ts declare the
 * sizes, inputs and outputs of the call here; then the outputs are checked for overlaps.
 */
import { RgxError } from "../../core/errors.ts";
import type { ComputeDtype } from "../ops/common/compute_dtype.ts";
import type { DType, Tensor } from "../tensor.ts";
import {
  blockOf,
  isWeightType,
  storedWords,
  WEIGHT_TYPES,
  type WeightType,
} from "../weights/types.ts";

export const NONE: readonly string[] = [];

/** What the numbers of these names are in all operations; the check of one may ask for more. */
const NUMBERS = {
  sizes: "rows n m k r count maxNew segmentCount runCount pairs forbiddenCount topK roots states " +
    "longest",
  positive: "d vocab heads kvHeads headDim rotaryDim experts chosen taps keyHeads valueHeads " +
    "keyDim valueDim window",
  finite: "eps offset scale alpha loraScale",
  aboveZero: "softCap limit",
} as const;
const KINDS = new Map(
  Object.entries(NUMBERS).flatMap(([kind, names]) =>
    names.split(" ").map((name) => [name, kind as keyof typeof NUMBERS])
  ),
);

/** Operations whose rows may have no columns: they move or drop values, and compute nothing. */
const EMPTY_ROWS = new Set(["gather_rows", "scatter_rows", "scatter_add_rows", "dropout"]);

/** The tensors of one call, as the check of its operation declares them. */
export class Call {
  readonly #op: string;
  readonly #names: string[] = [];
  readonly #tensors: Tensor[] = [];
  readonly #lengths: number[] = [];
  /** For each tensor: null for an input, else the inputs that this output may be identical to. */
  readonly #mayBe: (readonly string[] | null)[] = [];

  readonly #args: Readonly<Record<string, unknown>>;

  constructor(op: string, args: object, readonly computeDtype: ComputeDtype) {
    this.#op = op;
    this.#args = args as Readonly<Record<string, unknown>>;
  }

  fail(argument: string, found: unknown, expected: string): never {
    throw new RgxError(`${this.#op}: ${argument} is ${found}, expected ${expected}`);
  }

  /** Checks the numbers whose names say what they are. (Some tensors have such names, too.) */
  numbers(): void {
    for (const name in this.#args) {
      const kind = name === "d" && EMPTY_ROWS.has(this.#op) ? "sizes" : KINDS.get(name);
      const value = this.#args[name];
      if (kind === undefined || value === undefined || value instanceof Object) continue;
      this[kind]({ [name]: value as number });
    }
  }

  /** Every named argument is an integer ≥ 0. */
  sizes(sizes: Readonly<Record<string, number>>): void {
    for (const name in sizes) {
      const size = sizes[name]!;
      if (!Number.isSafeInteger(size) || size < 0) this.fail(name, size, "a non-negative integer");
    }
  }

  /** Every named argument is an integer ≥ 1. */
  positive(sizes: Readonly<Record<string, number>>): void {
    for (const name in sizes) {
      const size = sizes[name]!;
      if (!Number.isSafeInteger(size) || size < 1) this.fail(name, size, "a positive integer");
    }
  }

  finite(numbers: Readonly<Record<string, number>>): void {
    for (const name in numbers) {
      if (!Number.isFinite(numbers[name])) this.fail(name, numbers[name], "a finite number");
    }
  }

  /** Every named argument is a finite number > 0. */
  aboveZero(numbers: Readonly<Record<string, number>>): void {
    for (const name in numbers) {
      const number = numbers[name]!;
      if (!(number > 0 && number < Infinity)) this.fail(name, number, "a finite number > 0");
    }
  }

  /** The tensor of a name is read. It has at least `length` elements. */
  input(name: string, length: number, dtype: DType = "float"): void {
    this.declare(name, length, dtype, null);
  }

  /** Tensors that are read, by their names and lengths; undefined: the tensor is absent. */
  inputs(lengths: Readonly<Record<string, number | undefined>>, dtype: DType = "float"): void {
    for (const name in lengths) {
      const length = lengths[name];
      if (length !== undefined) this.declare(name, length, dtype, null);
    }
  }

  /** A weight of `rows` rows in a storage type. @param rowLength argument name → length */
  stored(
    name: string,
    type: WeightType,
    rows: number,
    rowLength: Readonly<Record<string, number>>,
  ): void {
    if (!isWeightType(type)) this.fail("weightType", type, WEIGHT_TYPES.join(", "));
    const block = blockOf(type);
    for (const along in rowLength) {
      const length = rowLength[along]!;
      if (length % block !== 0) {
        this.fail(along, length, `a multiple of ${block} for a weight in ${type}`);
      }
      this.input(name, storedWords(type, rows, length), "u32");
    }
  }

  /** A tensor that is written. @param mayBe the inputs that it may be identical to */
  output(name: string, length: number, mayBe = NONE, dtype: DType = "float"): void {
    this.declare(name, length, dtype, mayBe);
  }

  /** Tensors that are written, as in `inputs`, and that are no other tensor of the call. */
  outputs(lengths: Readonly<Record<string, number | undefined>>, dtype: DType = "float"): void {
    for (const name in lengths) {
      const length = lengths[name];
      if (length !== undefined) this.declare(name, length, dtype, NONE);
    }
  }

  protected declare(
    name: string,
    length: number,
    dtype: DType,
    mayBe: readonly string[] | null,
  ): void {
    const tensor = this.#args[name] as Tensor;
    if (typeof tensor !== "object" || tensor === null) this.fail(name, tensor, "a tensor");
    if (tensor.dtype !== dtype) {
      this.fail(name, `"${tensor.label}" of type ${tensor.dtype}`, `type ${dtype}`);
    }
    // A number that is absent makes the length NaN.
    if (!(tensor.length >= length)) {
      const found = `"${tensor.label}" with ${tensor.length} elements`;
      this.fail(name, found, `at least ${length}`);
    }
    this.#names.push(name);
    this.#tensors.push(tensor);
    this.#lengths.push(length);
    this.#mayBe.push(mayBe);
  }

  /** All tensors, each with whether it is written. */
  *touched(): Iterable<readonly [Tensor, boolean]> {
    for (let i = 0; i < this.#tensors.length; i++) {
      yield [this.#tensors[i]!, this.#mayBe[i] !== null];
    }
  }

  refuseOverlaps(): void {
    const count = this.#tensors.length;
    for (let i = 0; i < count; i++) {
      const mayBe = this.#mayBe[i]!;
      if (mayBe === null) continue;
      for (let j = 0; j < count; j++) {
        // Each pair of outputs is compared once.
        if (j === i || (j < i && this.#mayBe[j] !== null)) continue;
        const a = this.#tensors[i]!, b = this.#tensors[j]!;
        if (!overlap(a, this.#lengths[i]!, b, this.#lengths[j]!)) continue;
        if (mayBe.includes(this.#names[j]!) && sameStart(a, b)) continue;
        const allowed = mayBe.length > 0
          ? `only exactly ${mayBe.join(" or ")}`
          : "memory of its own";
        const found = `"${a.label}", in the memory of ${this.#names[j]} ("${b.label}")`;
        this.fail(this.#names[i]!, found, allowed);
      }
    }
  }
}

/** Lists the tensors that a check declares, and does not look at them. */
export class TensorList extends Call {
  readonly tensors: { name: string; length: number; dtype: DType; isOutput: boolean }[] = [];

  protected override declare(
    name: string,
    length: number,
    dtype: DType,
    mayBe: readonly string[] | null,
  ): void {
    this.tensors.push({ name, length, dtype, isOutput: mayBe !== null });
  }
}

/** Whether the first `aLength` elements of a and the first `bLength` of b share memory. */
function overlap(a: Tensor, aLength: number, b: Tensor, bLength: number): boolean {
  if (aLength === 0 || bLength === 0) return false;
  if (a === b) return true;
  if (a.storage === undefined || a.storage !== b.storage) return false;
  return a.offset! < b.offset! + bLength && b.offset! < a.offset! + aLength;
}

function sameStart(a: Tensor, b: Tensor): boolean {
  return a === b || (a.storage === b.storage && a.offset === b.offset);
}
