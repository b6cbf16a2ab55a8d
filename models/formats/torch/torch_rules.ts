/**
 * What PyTorch's pickles of weights may name and call, and how to get the tensors from the result.
 */
import { RgxError } from "../../../core/errors.ts";
import { isGlobal, type Pickled, type PickleRules } from "./unpickle.ts";

/** Class of a storage → type of its elements and their bytes. */
const STORAGES: Readonly<Record<string, readonly [dtype: string, bytes: number]>> = {
  FloatStorage: ["F32", 4],
  DoubleStorage: ["F64", 8],
  HalfStorage: ["F16", 2],
  BFloat16Storage: ["BF16", 2],
  LongStorage: ["I64", 8],
  IntStorage: ["I32", 4],
  ShortStorage: ["I16", 2],
  CharStorage: ["I8", 1],
  ByteStorage: ["U8", 1],
  BoolStorage: ["BOOL", 1],
};

interface Storage {
  readonly key: string;
  readonly dtype: string;
  readonly bytes: number;
}

/** Where a tensor is in its storage, counted in elements of `bytes` bytes. */
export interface StoredTensor {
  readonly name: string;
  readonly dtype: string;
  readonly bytes: number;
  readonly storage: string;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

type UnnamedTensor = Omit<StoredTensor, "name">;

/** A tensor in a storage of the file. */
export class TensorValue {
  constructor(readonly tensor: UnnamedTensor) {}
}

class StorageValue {
  constructor(readonly storage: Storage) {}
}

/** What to do with a pickle that is refused. */
export const ADVICE = "Take the model as safetensors, or convert it in an environment you trust.";

export function torchRules(where: string): PickleRules {
  const bad = (message: string) =>
    new RgxError(`${where}: the pickle ${message}`, { advice: ADVICE });
  const rebuild = ([storage, offset, shape, stride]: readonly Pickled[]): Pickled => {
    const value = otherValue(storage);
    if (
      !(value instanceof StorageValue) || !isCount(offset) || !isCounts(shape) ||
      !isCounts(stride) || shape.length !== stride.length ||
      !Number.isSafeInteger(shape.reduce((a, b) => a * b, 1))
    ) throw bad("makes a tensor of what is no storage, offset, shape and stride");
    const { key, dtype, bytes } = value.storage;
    const tensor = { dtype, bytes, storage: key, offset, shape, stride };
    return { kind: "other", value: new TensorValue(tensor) };
  };
  const dictionary = ([pairs = []]: readonly Pickled[]): Pickled => {
    if (!Array.isArray(pairs) || !pairs.every((pair) => Array.isArray(pair) && pair.length === 2)) {
      throw bad("makes a dictionary of what is no list of pairs");
    }
    return new Map(pairs as [Pickled, Pickled][]);
  };
  const parameter = ([tensor]: readonly Pickled[]): Pickled => {
    if (!(otherValue(tensor) instanceof TensorValue)) throw bad("makes a parameter of no tensor");
    return tensor!;
  };
  return {
    calls: new Map([
      ["collections OrderedDict", dictionary],
      ["torch._utils _rebuild_tensor_v2", rebuild],
      ["torch._utils _rebuild_parameter", parameter],
    ]),
    names: new Set(Object.keys(STORAGES).map((name) => `torch ${name}`)),
    persistent(id) {
      const storage = readStorage(id);
      if (storage === null) throw bad("refers to something that is no storage of a known type");
      return { kind: "other", value: new StorageValue(storage) };
    },
  };
}

/** The id is ("storage", class, key, device, number of elements). */
function readStorage(id: Pickled): Storage | null {
  if (!Array.isArray(id) || id.length !== 5) return null;
  const [tag, type, key] = id;
  const name = isGlobal(type) ? type.name.replace("torch ", "") : "";
  const known = Object.hasOwn(STORAGES, name) ? STORAGES[name]! : undefined;
  if (tag !== "storage" || known === undefined || typeof key !== "string") return null;
  return { key, dtype: known[0], bytes: known[1] };
}

/** The result of a listed function, or null. */
export function otherValue(value: Pickled | undefined): unknown {
  const isOther = value !== null && typeof value === "object" && "kind" in value &&
    value.kind === "other";
  return isOther ? value.value : null;
}

export function isCount(value: Pickled | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

export function isCounts(value: Pickled | undefined): value is number[] {
  return Array.isArray(value) && value.length <= 8 && value.every(isCount);
}

export function plainTensor(item: Pickled): UnnamedTensor | null {
  const found = otherValue(item);
  return found instanceof TensorValue ? found.tensor : null;
}

/**
 * The tensors of a state_dict, or of one under "state_dict" or "model".
 * @param tensorOf the tensor that a value of the dictionary has in this file, or null
 * @throws RgxError when the value is not a dictionary of tensors, or one storage has two types
 */
export function tensorsOf(
  value: Pickled,
  where: string,
  tensorOf: (item: Pickled, name: string) => UnnamedTensor | null = plainTensor,
): Map<string, StoredTensor> {
  const dictionary = value instanceof Map
    ? [value.get("state_dict"), value.get("model")].find((inner) => inner instanceof Map) ?? value
    : value;
  if (!(dictionary instanceof Map)) {
    throw new RgxError(`${where}: it holds no dictionary of tensors`, { advice: ADVICE });
  }
  const tensors = new Map<string, StoredTensor>();
  const types = new Map<string, string>();
  for (const [name, item] of dictionary) {
    const found = typeof name === "string" ? tensorOf(item, name) : null;
    if (found === null || typeof name !== "string") continue;
    const { storage, dtype } = found;
    if ((types.get(storage) ?? dtype) !== dtype) {
      throw new RgxError(
        `${where}: storage "${storage}" is both ${types.get(storage)} and ${dtype}`,
      );
    }
    types.set(storage, dtype);
    tensors.set(name, { name, ...found });
  }
  if (tensors.size === 0) {
    throw new RgxError(`${where}: there is no tensor in it`, { advice: ADVICE });
  }
  return tensors;
}
