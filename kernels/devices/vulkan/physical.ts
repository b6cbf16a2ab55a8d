/**
 * The Vulkan instance and its physical devices, with what rgx must know of them, and the choice of
 * one. Unlike WebGPU, Vulkan lists all devices with their addresses on the PCI bus.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import type { AdapterInfo } from "../../device.ts";
import type { MatrixUnits } from "../../ops/common/webgpu_op.ts";
import { listCards } from "../webgpu/cards.ts";
import { hiddenError, visibleCards } from "../webgpu/visible.ts";
import { check, handleOf, noVulkanError, openVulkan, type Vulkan, VulkanError } from "./library.ts";
import { type Bytes, cString, joined, textArray, textOf, zeros } from "./memory_layout.ts";
import * as vk from "./structs.ts";

/** Vulkan 1.3, which drivers since 2022 have: SPIR-V 1.6, timeline semaphores, the memory model. */
const API_VERSION = 1 << 22 | 3 << 12;
const CPU = 4;
const PCI_BUS_INFO = "VK_EXT_pci_bus_info";
const ROBUSTNESS2 = "VK_EXT_robustness2", MATRICES = "VK_KHR_cooperative_matrix";

export interface Physical {
  readonly handle: bigint;
  readonly info: AdapterInfo;
  /** VkPhysicalDeviceType; 1 integrated, 2 discrete, 3 virtual, 4 a CPU. */
  readonly type: number;
  readonly apiVersion: number;
  readonly extensions: ReadonlySet<string>;
  /** VkPhysicalDeviceLimits. */
  readonly limits: Bytes;
  /** Bytes that the driver gives in one allocation. Some drivers give more. */
  readonly maxAllocation: number;
  /** Bytes that a buffer may have, and that are there for it. */
  readonly maxBuffer: number;
  readonly subgroupSize: number;
  /** "0000:41:00.0"; null when unknown. */
  readonly address: string | null;
}

export interface Instance {
  vulkan: Vulkan;
  instance: bigint;
  destroy: () => void;
}

/** Creates an instance; `destroy` must be called at the end. */
export function createInstance(): Instance {
  const vulkan = openVulkan();
  if (Deno.build.os === "linux" && Deno.env.get("XDG_RUNTIME_DIR") === undefined) {
    Deno.env.set("XDG_RUNTIME_DIR", "/tmp"); // else Mesa prints a warning
  }
  const application = vk.VkApplicationInfo.make({
    pApplicationName: "rgx",
    pEngineName: "rgx",
    apiVersion: API_VERSION,
  });
  const info = vk.VkInstanceCreateInfo.make({ pApplicationInfo: application });
  try {
    const instance = handleOf(
      "vkCreateInstance",
      (out) => vulkan.vkCreateInstance(info, null, out),
    );
    return { vulkan, instance, destroy: () => vulkan.vkDestroyInstance(instance, null) };
  } catch (error) {
    if (error instanceof VulkanError) throw noVulkanError(error.message);
    throw error;
  }
}

/**
 * What a function lists, `size` bytes each: it gives the number of them, and writes them when it
 * has room.
 */
function listed(size: number, list: (count: Bytes, out: Bytes) => void): { n: number; all: Bytes } {
  const count = zeros(4);
  list(count, null as unknown as Bytes);
  const n = new DataView(count.buffer).getUint32(0, true), all = zeros(size * n);
  if (n > 0) list(count, all);
  return { n, all };
}

/** The devices of an instance: cards before software, in the order of the loader. */
export function listPhysical(vulkan: Vulkan, instance: bigint): Physical[] {
  const { all } = listed(8, (count, out) => {
    check("vkEnumeratePhysicalDevices", vulkan.vkEnumeratePhysicalDevices(instance, count, out));
  });
  const found = [...new BigUint64Array(all.buffer)].map((handle) => examine(vulkan, handle));
  // Discrete, integrated, virtual, others, and CPUs at the end.
  const rank = ({ type }: Physical) => [4, 1, 0, 2, 9][type] ?? 5;
  return found.sort((a, b) => rank(a) - rank(b));
}

function examine(vulkan: Vulkan, handle: bigint): Physical {
  const extensions = extensionsOf(vulkan, handle);
  const { VkPhysicalDeviceProperties: P } = vk;
  const pci = vk.VkPhysicalDevicePCIBusInfoPropertiesEXT.make();
  const hasPci = extensions.has(PCI_BUS_INFO);
  const driver = vk.VkPhysicalDeviceDriverProperties.make({}, hasPci ? pci : null);
  const buffers = vk.VkPhysicalDeviceMaintenance4Properties.make({}, driver);
  const memory = vk.VkPhysicalDeviceMaintenance3Properties.make({}, buffers);
  const subgroups = vk.VkPhysicalDeviceSubgroupProperties.make({}, memory);
  const all = vk.VkPhysicalDeviceProperties2.make({}, subgroups);
  vulkan.vkGetPhysicalDeviceProperties2(handle, all);
  const properties = vk.VkPhysicalDeviceProperties2.part(all, "properties").slice();
  const type = P.number(properties, "deviceType");
  const D = vk.VkPhysicalDeviceDriverProperties;
  const address = vk.VkPhysicalDevicePCIBusInfoPropertiesEXT;
  const hex = (field: keyof typeof address.fields, digits: number) =>
    address.number(pci, field).toString(16).padStart(digits, "0");
  const name = `${textOf(D.part(driver, "driverName"))} ${textOf(D.part(driver, "driverInfo"))}`;
  return {
    handle,
    type,
    info: {
      name: textOf(P.part(properties, "deviceName")),
      vendor: P.number(properties, "vendorID"),
      device: P.number(properties, "deviceID"),
      software: type === CPU,
      driver: name,
    },
    apiVersion: P.number(properties, "apiVersion"),
    extensions,
    limits: P.part(properties, "limits").slice(),
    maxAllocation: vk.VkPhysicalDeviceMaintenance3Properties.number(
      memory,
      "maxMemoryAllocationSize",
    ),
    maxBuffer: Math.min(
      vk.VkPhysicalDeviceMaintenance4Properties.number(buffers, "maxBufferSize"),
      largestHeap(vulkan, handle),
    ),
    subgroupSize: vk.VkPhysicalDeviceSubgroupProperties.number(
      subgroups,
      "subgroupSize",
    ),
    address: hasPci
      ? `${hex("pciDomain", 4)}:${hex("pciBus", 2)}:${hex("pciDevice", 2)}.${hex("pciFunction", 1)}`
      : null,
  };
}

/** Bytes of the largest heap of the card's own memory. */
function largestHeap(vulkan: Vulkan, handle: bigint): number {
  const { VkPhysicalDeviceMemoryProperties: P, VkMemoryHeap: H } = vk, LOCAL = 1;
  const properties = zeros(P.size);
  vulkan.vkGetPhysicalDeviceMemoryProperties(handle, properties);
  const heaps = Array.from({ length: P.number(properties, "memoryHeapCount") }, (_, i) => {
    const at = P.offsets.memoryHeaps + H.size * i;
    const isLocal = (H.number(properties, "flags", 0, at) & LOCAL) !== 0;
    return isLocal ? H.number(properties, "size", 0, at) : 0;
  });
  return Math.max(...heaps);
}

function extensionsOf(vulkan: Vulkan, handle: bigint): Set<string> {
  const { size } = vk.VkExtensionProperties;
  const { n, all } = listed(size, (count, out) => {
    const result = vulkan.vkEnumerateDeviceExtensionProperties(handle, null, count, out);
    check("vkEnumerateDeviceExtensionProperties", result);
  });
  return new Set(
    Array.from({ length: n }, (_, i) => textOf(all.subarray(size * i, size * i + 256))),
  );
}

/**
 * Chooses the device with index `card` among the visible cards; null = the first.
 * CUDA_VISIBLE_DEVICES and its relatives are obeyed.
 * @throws RgxError (exit 2) when there is no such device
 */
export function choosePhysical(
  found: readonly Physical[],
  card: number | null,
  visible: number[] | null = visibleCards().cards,
  cards: readonly { address: string }[] = listCards(),
): Physical {
  if (found.length === 0) throw noVulkanError("no driver offers a device");
  if (card === null && visible === null) return usable(found[0]!);
  if (visible?.length === 0) throw hiddenError();
  const place = visible === null ? card! : visible[card ?? 0];
  const address = place === undefined ? undefined : cards[place]?.address;
  if (address === undefined) {
    const list = found.map(({ info, address }) => `\n  ${info.name} at ${address ?? "no address"}`);
    throw new UsageError(
      `there is no graphics card ${card}: ${visible?.length ?? cards.length} are visible${
        list.join("")
      }`,
      { advice: "vulkan:0 is the first card; rgx doctor lists them." },
    );
  }
  const chosen = found.find((device) => device.address === address);
  if (chosen === undefined) {
    throw noVulkanError(`its drivers do not offer the card at ${address}`);
  }
  return usable(chosen);
}

/** @throws RgxError (exit 2) when the device lacks what the kernels need */
function usable(device: Physical): Physical {
  const version = (v: number) => `${v >> 22}.${v >> 12 & 0x3ff}`;
  if (device.apiVersion < API_VERSION) {
    throw new UsageError(
      `${device.info.name} has Vulkan ${version(device.apiVersion)}, at least ` +
        `${version(API_VERSION)} is needed (driver ${device.info.driver})`,
      { advice: "Install a driver of 2022 or later, or use --device webgpu." },
    );
  }
  const L = vk.VkPhysicalDeviceLimits, { limits } = device;
  const needs: [keyof typeof L.fields, number][] = [
    ["maxStorageBufferRange", 2 ** 27],
    ["maxComputeSharedMemorySize", 16_384],
    ["maxComputeWorkGroupInvocations", 256],
    ["maxPerStageDescriptorStorageBuffers", 8],
  ];
  for (const [name, min] of needs) {
    const value = L.number(limits, name);
    if (value >= min) continue;
    throw new RgxError(
      `${device.info.name} is too small for rgx: its ${name} is ${value}, at least ${min} is needed`,
      { advice: "compute on the CPU, the device wasm", exitCode: 2 },
    );
  }
  return device;
}

/** What of the optional features the logical device is created with. */
export interface Features {
  /** Accesses beyond a bound range are harmless without checks in the kernels. */
  robust: boolean;
  float16: boolean;
  /** Units for products of halves with sums in f32; null where there are none for the kernels. */
  matrixUnits: MatrixUnits | null;
}

/** The features to request as a chain for VkDeviceCreateInfo, and the extensions for them. */
export function requestFeatures(
  vulkan: Vulkan,
  instance: bigint,
  physical: Physical,
): { chain: Bytes; extensions: string[]; features: Features } {
  const { handle, extensions } = physical;
  const robustness = vk.VkPhysicalDeviceRobustness2FeaturesEXT;
  const matrices = vk.VkPhysicalDeviceCooperativeMatrixFeaturesKHR;
  const v12 = vk.VkPhysicalDeviceVulkan12Features, v11 = vk.VkPhysicalDeviceVulkan11Features;
  const hasRobustness = extensions.has(ROBUSTNESS2), hasMatrices = extensions.has(MATRICES);
  const haveMatrices = matrices.make();
  const have2 = robustness.make({}, hasMatrices ? haveMatrices : null),
    have12 = v12.make({}, hasRobustness ? have2 : hasMatrices ? haveMatrices : null);
  const have11 = v11.make({}, have12), have = vk.VkPhysicalDeviceFeatures2.make({}, have11);
  vulkan.vkGetPhysicalDeviceFeatures2(handle, have);
  const robust = hasRobustness && robustness.number(have2, "robustBufferAccess2") === 1;
  const float16 = v12.number(have12, "shaderFloat16") === 1 &&
    v11.number(have11, "storageBuffer16BitAccess") === 1;
  const half = float16 ? 1 : 0;
  const matrixUnits = float16 && matrices.number(haveMatrices, "cooperativeMatrix") === 1
    ? unitsOf(vulkan, instance, physical)
    : null;
  // All others are guaranteed by Vulkan 1.3.
  let chain = vk.VkPhysicalDeviceVulkan13Features.make({
    subgroupSizeControl: 1,
    computeFullSubgroups: 1,
    shaderZeroInitializeWorkgroupMemory: 1,
    maintenance4: 1,
  });
  chain = v12.make({
    shaderFloat16: half,
    timelineSemaphore: 1,
    vulkanMemoryModel: 1,
    vulkanMemoryModelDeviceScope: 1,
  }, chain);
  chain = v11.make({
    storageBuffer16BitAccess: half,
    uniformAndStorageBuffer16BitAccess: half,
  }, chain);
  if (matrixUnits !== null) chain = matrices.make({ cooperativeMatrix: 1 }, chain);
  if (robust) chain = robustness.make({ robustBufferAccess2: 1 }, chain);
  const core = vk.VkPhysicalDeviceFeatures.make({ robustBufferAccess: 1 });
  chain = vk.VkPhysicalDeviceFeatures2.make({ features: core }, chain);
  const wanted = [...(robust ? [ROBUSTNESS2] : []), ...(matrixUnits !== null ? [MATRICES] : [])];
  return { chain, extensions: wanted, features: { robust, float16, matrixUnits } };
}

/** The largest matrices of halves with sums in f32 that WGSL can name: 16 × 16, or 8 × 8. */
function unitsOf(
  vulkan: Vulkan,
  instance: bigint,
  { handle, subgroupSize }: Physical,
): MatrixUnits | null {
  const FLOAT16 = 0, FLOAT32 = 1, SUBGROUP = 3;
  const P = vk.VkCooperativeMatrixPropertiesKHR,
    name = "GetPhysicalDeviceCooperativeMatrixProperties";
  const address = vulkan.vkGetInstanceProcAddr(instance, cString(`vk${name}KHR`));
  if (address === null) return null;
  const type = { parameters: ["u64", "buffer", "buffer"], result: "i32" } as const;
  const list = new Deno.UnsafeFnPointer(address as Deno.PointerObject<typeof type>, type);
  const count = zeros(4);
  check(name, list.call(handle, count, null));
  const n = new DataView(count.buffer).getUint32(0, true);
  if (n === 0) return null;
  const all = joined(Array.from({ length: n }, () => P.make()));
  check(name, list.call(handle, count, all));
  const edges = Array.from({ length: n }, (_, i) => P.size * i).flatMap((base) => {
    const value = (field: keyof typeof P.fields) => P.number(all, field, 0, base);
    const edge = value("MSize"), isSquare = value("NSize") === edge && value("KSize") === edge;
    const types = [value("AType"), value("BType"), value("CType"), value("ResultType")];
    const fits = types.join() === [FLOAT16, FLOAT16, FLOAT32, FLOAT32].join();
    return isSquare && fits && value("scope") === SUBGROUP ? [edge] : [];
  });
  const edge = [16, 8].find((size) => edges.includes(size));
  return edge === undefined ? null : { edge, subgroup: subgroupSize };
}

/** The first queue family that computes, with its time stamps' valid bits. */
export function computeQueue(vulkan: Vulkan, device: Physical): { family: number; stamps: number } {
  const Q = vk.VkQueueFamilyProperties;
  const { n, all } = listed(Q.size, (count, out) => {
    vulkan.vkGetPhysicalDeviceQueueFamilyProperties(device.handle, count, out);
  });
  const families = Array.from({ length: n }, (_, family) => ({
    family,
    flags: Q.number(all, "queueFlags", 0, Q.size * family),
    stamps: Q.number(all, "timestampValidBits", 0, Q.size * family),
  }));
  const COMPUTE = 2;
  const chosen = families.find(({ flags }) => (flags & COMPUTE) !== 0);
  if (chosen === undefined) throw noVulkanError(`${device.info.name} has no queue that computes`);
  return chosen;
}

/**
 * A device with one queue of a family. `chain` holds the structures of the features that it turns
 * on.
 * @throws VulkanError when the driver does not create it
 */
export function createDevice(
  vulkan: Vulkan,
  physical: Physical,
  family: number,
  { chain, extensions }: { chain?: Bytes; extensions: readonly string[] } = { extensions: [] },
): bigint {
  const info = vk.VkDeviceCreateInfo.make({
    queueCreateInfoCount: 1,
    pQueueCreateInfos: vk.VkDeviceQueueCreateInfo.make({
      queueFamilyIndex: family,
      queueCount: 1,
      pQueuePriorities: new Uint8Array(Float32Array.of(1).buffer),
    }),
    enabledExtensionCount: extensions.length,
    ppEnabledExtensionNames: extensions.length > 0 ? textArray(extensions) : null,
  }, chain);
  return handleOf(
    "vkCreateDevice",
    (out) => vulkan.vkCreateDevice(physical.handle, info, null, out),
  );
}
