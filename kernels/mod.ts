/**
 * Creates devices by name. An implementation is imported only when it is requested, so commands
 * that need no device do not load one.
 */
import { UsageError } from "../core/errors.ts";
import { requirePermissions } from "../core/machine/permissions.ts";
import type { AdapterInfo, Device } from "./device.ts";

export { packStored, unpackStored } from "./weights/layout.ts";
export { quantize, QUANTIZED_TYPES, type QuantizedType } from "./weights/quantize.ts";
export {
  blockOf,
  isWeightType,
  storedWords,
  WEIGHT_TYPES,
  type WeightType,
} from "./weights/types.ts";

/** The names that users can give; "auto" is the fastest device of this machine. */
export const DEVICE_NAMES = ["auto", "webgpu", "vulkan", "wasm", "reference"] as const;
/** The name of a device; one card of several is named by its number, `webgpu:1`. */
export type DeviceName =
  | typeof DEVICE_NAMES[number]
  | `${"webgpu" | "vulkan"}:${number}`;

/**
 * Opens a device; `close()` ends its threads.
 * @param name "auto" is a GPU if there is one, else the CPU. It never chooses a software adapter,
 *   because the kernels for the CPU are much faster. "webgpu:1" is the second of several GPUs.
 *   "vulkan" uses the same kernels without Deno's WebGPU.
 * @param options.threads Threads of the CPU device; default: the cores granted to this process.
 * @param options.keep The device on which a run began that goes on: "auto" takes it again, if it is
 *   one of a card.
 * @throws UsageError for an unknown name; RgxError when the device is not available.
 */
export async function createDevice(
  name: string,
  { keep = null, ...options }: { threads?: number; keep?: string | null } = {},
): Promise<Device> {
  const [kind, card] = splitCard(name);
  requirePermissions("createDevice", { name: "env" });
  switch (kind) {
    case "reference":
      return (await import("./devices/reference/device.ts")).createReferenceDevice();
    case "wasm":
      return await (await import("./devices/wasm/device.ts")).createWasmDevice(options);
    case "webgpu":
      return await (await import("./devices/webgpu/device.ts")).createWebgpuDevice({ card });
    case "vulkan":
      return await (await import("./devices/vulkan/device.ts")).createVulkanDevice({ card });
    case "auto":
      return await createDevice(await deviceOnCard(keep) ?? "wasm", options);
    default:
      throw unknownDevice(name);
  }
}

/**
 * The error for a name that {@link createDevice} does not take.
 * @param source what named it, for the message: `--device` or `RGX_DEVICE`
 */
export function unknownDevice(name: string, source?: string): UsageError {
  const what = source === undefined
    ? `unknown device "${name}"`
    : `${source} ${name}: unknown device`;
  const text = `${what}, expected ${DEVICE_NAMES.join(", ")}`;
  return new UsageError(text, { advice: adviceFor(name) });
}

/** What to write for a device; PyTorch's names have their counterparts. */
function adviceFor(name: string): string {
  if (name === "cpu") return "the processor is called wasm";
  const [, number] = /^(?:cuda|gpu|mps|xpu)(:\d+)?$/.exec(name) ?? [name, null];
  if (number === null) {
    return "one card of several is named by its number: webgpu:0, webgpu:1 … (or vulkan:1)";
  }
  return `a graphics card is called webgpu${number ?? ""}; auto takes one where there is one`;
}

/**
 * What "auto" takes on this machine's card; null: there is none.
 * @param keep as for {@link createDevice}; a machine without Vulkan goes on with webgpu
 */
export async function deviceOnCard(keep: string | null): Promise<"webgpu" | "vulkan" | null> {
  if (await graphicsCard() === null) return null;
  if (keep !== "vulkan") return "webgpu";
  const { vulkanAdapter } = await import("./devices/vulkan/device.ts");
  try {
    vulkanAdapter();
    return "vulkan";
  } catch {
    return "webgpu";
  }
}

/** Whether `name` may be given to {@link createDevice}. */
export function isDeviceName(name: string): boolean {
  const [kind] = splitCard(name);
  return (DEVICE_NAMES as readonly string[]).includes(kind);
}

/** "webgpu:1" → ["webgpu", 1], and so for vulkan; any other name → [name, null]. */
function splitCard(name: string): [kind: string, card: number | null] {
  const match = /^(webgpu|vulkan):([0-9]{1,3})$/.exec(name);
  return match === null ? [name, null] : [match[1]!, Number(match[2])];
}

/** The adapter that "webgpu" would use, or null. Nothing is allocated on it. */
export async function graphicsAdapter(): Promise<AdapterInfo | null> {
  const { describeAdapter, findAdapter } = await import("./devices/webgpu/adapter.ts");
  const adapter = await findAdapter();
  return adapter === null ? null : describeAdapter(adapter);
}

/**
 * For one of several processes on a machine: the number of graphics cards that this one may use,
 * and the variable that limits them ("" = none).
 * @param name as for {@link createDevice}; null when it does not mean a graphics card
 */
export async function cardsFor(name: string): Promise<{ cards: number; by: string } | null> {
  const usesCard = name === "webgpu" || name === "vulkan" ||
    (name === "auto" && await graphicsCard() !== null);
  if (!usesCard) return null;
  return (await import("./devices/webgpu/visible.ts")).cardsForRanks();
}

/** The adapter of a card, not of a CPU, that this process may use; null: there is none. */
async function graphicsCard(): Promise<AdapterInfo | null> {
  const { chooseCard } = await import("./devices/webgpu/visible.ts");
  if (!chooseCard(null)) return null;
  const adapter = await graphicsAdapter();
  return adapter === null || adapter.software ? null : adapter;
}

/**
 * A device for people: "wasm, 2 threads, AVX-512 tiles" or "webgpu, NVIDIA H100 80GB HBM3", and
 * ", products in bfloat16 by AMX" where it computes in this type.
 */
export function describeDevice(
  { name, threads, tiles, adapter, computeDtype, bf16Unit }: Device,
): string {
  const matrix = bf16Unit?.startsWith("matrix units") ?? false;
  // Processors have units for bfloat16 only; those of cards multiply halves.
  const unit = computeDtype === "float16" && !matrix ? "float32 arithmetic" : bf16Unit;
  const products = computeDtype === "float32"
    ? ""
    : `, products in ${computeDtype}${unit === undefined ? "" : ` by ${unit}`}`;
  if (adapter !== undefined) {
    const slow = adapter.software ? " (software: right, and slow)" : "";
    return `${name}, ${adapter.name}${slow}${products}`;
  }
  const counted = `${name}, ${threads} thread${threads === 1 ? "" : "s"}`;
  return `${tiles === undefined ? counted : `${counted}, ${tiles}`}${products}`;
}
