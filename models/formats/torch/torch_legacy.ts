/**
 * The layout of `torch.save` before 1.6: five pickles (a magic number, the protocol, facts about the
 * machine, the object, the keys of the storages), then each storage: its length and its elements.
 */
import { RgxError } from "../../../core/errors.ts";
import type { ByteSource } from "../byte_source.ts";
import type { StoragePlace } from "./torch_file.ts";
import { type StoredTensor, tensorsOf, torchRules } from "./torch_rules.ts";
import { PickleCutOff, type Pickled, unpickle } from "./unpickle.ts";

const MAGIC = 0x1950a86a20f9469cfc6cn;
const PROTOCOL = 1001;
/** Far more than the names of any model's tensors take. */
const MAX_PICKLE_BYTES = 2 ** 28;
const FIRST_WINDOW = 2 ** 18;

/** @throws RgxError when the file is none of this kind, damaged, or holds anything but tensors */
export async function readLegacyTorch(
  label: string,
  source: ByteSource,
): Promise<{ tensors: Map<string, StoredTensor>; places: Map<string, StoragePlace> }> {
  const bad = (message: string) =>
    new RgxError(`${label}: not valid PyTorch weights: ${message}`, {
      advice: "The file is damaged, incomplete or of another format: fetch it again.",
    });
  const { object, keys, end } = await readPickles(label, source, bad);
  const tensors = tensorsOf(object, label);
  const widths = new Map([...tensors.values()].map(({ storage, bytes }) => [storage, bytes]));
  const places = new Map<string, StoragePlace>();
  let at = end;
  for (const key of keys) {
    const width = typeof key === "string" ? widths.get(key) : undefined;
    // Without a tensor its width is unknown, and so where the next one begins.
    if (width === undefined) {
      throw bad(`no tensor is in storage ${typeof key === "string" ? `"${key}"` : typeof key}`);
    }
    if (at + 8 > source.size) throw bad(`it ends before storage "${key}"`);
    const { buffer } = await source.read(at, at + 8);
    const elements = Number(new DataView(buffer).getBigUint64(0, true));
    const begin = at + 8;
    at = begin + elements * width;
    if (!(at <= source.size)) {
      throw bad(`storage "${key}" ends at byte ${at}, the file has ${source.size}`);
    }
    places.set(key as string, { begin, elements });
  }
  return { tensors, places };
}

async function readPickles(label: string, source: ByteSource, bad: (m: string) => RgxError) {
  const rules = torchRules(label);
  for (let window = FIRST_WINDOW;; window *= 4) {
    const bytes = await source.read(0, Math.min(window, source.size));
    try {
      let end = 0;
      const next = () => {
        const read = unpickle(bytes, rules, label, end);
        end = read.end;
        return read.value;
      };
      checkStart(bytes, bad);
      const magic = next(), protocol = next();
      if (magic !== MAGIC || protocol !== PROTOCOL) {
        throw bad("it does not begin with PyTorch's number");
      }
      const machine = next();
      if (machine instanceof Map && machine.get("little_endian") === false) {
        throw bad("it was saved on a big-endian machine");
      }
      const object = next(), keys: Pickled = next();
      if (!Array.isArray(keys)) throw bad("it has no list of its storages");
      return { object, keys, end };
    } catch (error) {
      if (!(error instanceof PickleCutOff)) throw error;
      if (bytes.length === source.size) throw bad("its pickles end too early");
      if (window >= MAX_PICKLE_BYTES) throw bad(`its pickles have over ${MAX_PICKLE_BYTES} bytes`);
    }
  }
}

function checkStart(bytes: Uint8Array, bad: (message: string) => RgxError): void {
  if (bytes[0] === 0x80) return;
  throw bad(
    bytes.length === 0 ? "it is empty" : `it begins with byte 0x${bytes[0]!.toString(16)}`,
  );
}
