/**
 * Selects one of several GPUs. WebGPU cannot list adapters or select one by index. Therefore
 * environment variables of the Vulkan loader, or of Mesa's device-select layer (which works with
 * every driver, also NVIDIA's), hide all other GPUs. They must be set before the process first uses
 * WebGPU, so a process can use one GPU only.
 */
import { UsageError } from "../../../core/errors.ts";

/** A GPU in the kernel's list of PCI devices. */
export interface Card {
  /** "0000:41:00.0" */
  address: string;
  /** Hexadecimal, four digits. */
  vendor: string;
  device: string;
}

const PCI = "/sys/bus/pci/devices";
const LAYER = "VkLayer_MESA_device_select.json";
const LAYER_FOLDERS = ["/usr/share/vulkan/implicit_layer.d", "/etc/vulkan/implicit_layer.d"];

/**
 * Vendors of display controllers for the remote consoles of servers (ASPEED, Matrox, Huawei), which
 * cannot compute.
 */
const CONSOLE_VENDORS = ["1a03", "102b", "19e5"];

/**
 * The display controllers (PCI class 03) in the order of their addresses, without those of remote
 * consoles; an empty list when the PCI bus cannot be read.
 */
export function listCards(root = PCI): Card[] {
  let names: string[];
  try {
    names = [...Deno.readDirSync(root)].map(({ name }) => name).sort();
  } catch {
    return [];
  }
  const cards: Card[] = [];
  for (const address of names) {
    const read = (file: string) => {
      try {
        return Deno.readTextFileSync(`${root}/${address}/${file}`).trim().replace(/^0x/, "");
      } catch {
        return "";
      }
    };
    if (!read("class").startsWith("03")) continue;
    const vendor = read("vendor");
    if (!CONSOLE_VENDORS.includes(vendor)) cards.push({ address, vendor, device: read("device") });
  }
  return cards;
}

/**
 * The environment variables that hide all cards except one.
 * @throws UsageError when there is no such card, or when it cannot be distinguished from cards of
 *   the same model
 */
export function cardEnvironment(
  card: number,
  cards: readonly Card[],
  haveLayer: boolean,
): Record<string, string> {
  const chosen = cards[card];
  if (chosen === undefined) {
    const list = cards.map(({ address, vendor, device }, i) =>
      `\n  webgpu:${i} is ${vendor}:${device} at ${address}`
    );
    throw new UsageError(
      `there is no graphics card ${card}: this machine has ${cards.length}${list.join("")}`,
    );
  }
  const { address, vendor, device } = chosen;
  if (haveLayer) {
    return {
      MESA_VK_DEVICE_SELECT: `${vendor}:${device}!`,
      DRI_PRIME: `pci-${address.replace(/[:.]/g, "_")}`,
    };
  }
  const same = cards.filter((other) => other.vendor === vendor && other.device === device);
  if (same.length > 1) {
    throw new UsageError(
      `card ${card} cannot be selected: this machine has ${same.length} of its model, which only ` +
        `Mesa's Vulkan layer ${LAYER} distinguishes`,
      {
        advice:
          "install it (apt-get install mesa-vulkan-drivers), or start one process a card that " +
          "sees only its own (srun --gpus-per-task=1)",
      },
    );
  }
  return { VK_LOADER_DEVICE_SELECT: `${vendor}:${device}` };
}

/** Hides all other cards. Must be called before the first use of `navigator.gpu`. */
export function selectCard(card: number): void {
  const haveLayer = LAYER_FOLDERS.some((folder) => {
    try {
      return Deno.statSync(`${folder}/${LAYER}`).isFile;
    } catch {
      return false;
    }
  });
  for (const [name, value] of Object.entries(cardEnvironment(card, listCards(), haveLayer))) {
    Deno.env.set(name, value);
  }
}
