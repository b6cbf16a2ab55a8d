/**
 * What the pickle of one process of FSDP may hold besides tensors: PyTorch's DTensors, which say
 * how a tensor is divided among the processes. Objects of torch.distributed are read as data; no
 * code of them runs. Left out: FSDP's older ShardedTensor, parts that still have to be summed, and
 * tensors that are divided twice along one dimension. They are refused by name.
 */
import { RgxError } from "../../../core/errors.ts";
import {
  ADVICE,
  isCount,
  isCounts,
  otherValue,
  plainTensor,
  type StoredTensor,
  tensorsOf,
  TensorValue,
  torchRules,
} from "./torch_rules.ts";
import { isGlobal, isInstance, type Pickled, type PickleRules } from "./unpickle.ts";

export interface Division {
  readonly shape: readonly number[];
  /** The tensor's dimension that each dimension of the mesh divides; null: each has a copy. */
  readonly splits: readonly (number | null)[];
  /** This process's place in the mesh; null if the file does not say it. */
  readonly place: readonly number[] | null;
}

class DividedTensor {
  constructor(readonly local: TensorValue, readonly division: Division) {}
}

const SHARDED_TENSOR = "torch.distributed._shard.";
const FROM_TYPE = "torch._tensor _rebuild_from_type_v2";
const WRAPPER = "torch._utils _rebuild_wrapper_subclass";
const DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"];

export function rankRules(where: string): PickleRules {
  const plain = torchRules(where);
  const nothing = () => null;
  return {
    calls: new Map([
      ...plain.calls,
      ["torch Size", ([sizes = []]) => sizes],
      ["torch device", nothing],
      ["torch.serialization _get_layout", nothing],
      [FROM_TYPE, (args) => ({ kind: "other", value: dividedTensor(args, where) })],
    ]),
    names: new Set([...plain.names, WRAPPER, ...DTYPES.map((name) => `torch ${name}`)]),
    mayHold(className) {
      if (className.startsWith(SHARDED_TENSOR)) {
        throw new RgxError(`${where}: it holds ShardedTensors of FSDP 1, which are not read`, {
          advice: "verl writes DTensors with actor.strategy=fsdp2 (or with a device mesh): save " +
            "again, or put them together with verl's own model merger.",
        });
      }
      return className.startsWith("torch.distributed.");
    },
    persistent: plain.persistent,
  };
}

/**
 * A DTensor: (function, class, (class, dtype, shape, …), state). The state has the local part and
 * the placements.
 */
function dividedTensor(args: readonly Pickled[], where: string): DividedTensor {
  const bad = (message: string) =>
    new RgxError(`${where}: a tensor of the pickle ${message}`, { advice: ADVICE });
  const [make, type, made, state] = args, shape = Array.isArray(made) ? made[2] : undefined;
  if (!isGlobal(make) || make.name !== WRAPPER || !isGlobal(type)) {
    throw bad("is made by what is not known");
  }
  if (!type.name.endsWith(" DTensor")) throw bad(`is a ${type.name.replace(" ", ".")}`);
  const parts = attributes(state), local = otherValue(parts?.get("_local_tensor"));
  const spec = attributes(parts?.get("_spec")), placements = spec?.get("placements");
  if (!(local instanceof TensorValue) || !isCounts(shape) || !Array.isArray(placements)) {
    throw bad("has no local part, shape and placements");
  }
  const splits = placements.map((placement) => splitOf(placement, shape.length, bad));
  const divided = splits.filter((split) => split !== null);
  if (new Set(divided).size < divided.length) {
    throw bad(`is divided twice along dimension ${divided[0]}, which is not supported`);
  }
  const place = attributes(spec?.get("mesh"))?.get("_coordinate_on_dim");
  const known = isCounts(place) && place.length === splits.length ? place : null;
  return new DividedTensor(local, { shape, splits, place: known });
}

/** The state of an object: a dictionary, or a pair of which one is. */
function attributes(value: Pickled | undefined): Map<Pickled, Pickled> | undefined {
  const state = isInstance(value) ? value.state : value;
  if (state instanceof Map) return state;
  return Array.isArray(state) ? state.find((part) => part instanceof Map) : undefined;
}

/** The dimension that a placement divides, or null for a copy. */
function splitOf(
  placement: Pickled,
  dimensions: number,
  bad: (message: string) => RgxError,
): number | null {
  const name = isInstance(placement) ? placement.className.split(" ")[1] : "thing";
  if (name === "Replicate") return null;
  const dim = attributes(placement)?.get("dim");
  if (name !== "Shard" || typeof dim !== "number") {
    throw bad(`has the placement ${name}, which is not supported (Shard and Replicate are)`);
  }
  const split = dim < 0 ? dim + dimensions : dim;
  if (!isCount(split) || split >= dimensions) throw bad(`is divided along dimension ${dim}`);
  return split;
}

/** The local parts of a state_dict. `divisions` is filled by name. */
export function dividedTensors(
  value: Pickled,
  where: string,
  divisions: Map<string, Division>,
): Map<string, StoredTensor> {
  return tensorsOf(value, where, (item, name) => {
    const found = otherValue(item);
    if (!(found instanceof DividedTensor)) return plainTensor(item);
    divisions.set(name, found.division);
    return found.local.tensor;
  });
}
