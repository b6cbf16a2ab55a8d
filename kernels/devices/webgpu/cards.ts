/**
 * One card of several. WebGPU has no list of adapters and no index: the process is told, before its first look
 * at WebGPU, to see one card, by environment variables of the Vulkan loader and of Mesa's device-select layer
 * (which sits above every driver, NVIDIA's too). Hence one process a card.
 */
import { UsageError } from "../../../core/errors.ts";

/** A graphics card as the kernel's PCI bus lists it. */
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

/** Makers of the display controllers of servers' remote consoles (ASPEED, Matrox, Huawei): these compute nothing. */
const CONSOLES = ["1a03", "102b", "19e5"];

/**
 * Display controllers (PCI class 03) in the order of their addresses, without those of remote consoles; none where
 * there is no PCI bus to read.
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
    if (!CONSOLES.includes(vendor)) cards.push({ address, vendor, device: read("device") });
  }
  return cards;
}

/**
 * The variables that leave one card visible.
 * @throws UsageError when there is no such card, or when nothing can tell it from its twins.
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
  const twins = cards.filter((other) => other.vendor === vendor && other.device === device);
  if (twins.length > 1) {
    throw new UsageError(
      `card ${card} cannot be told from its ${
        twins.length - 1
      } twins without Mesa's Vulkan layer ` +
        `${LAYER}`,
      {
        advice:
          "install it (apt-get install mesa-vulkan-drivers), or start one process a card that " +
          "sees only its own (srun --gpus-per-task=1)",
      },
    );
  }
  return { VK_LOADER_DEVICE_SELECT: `${vendor}:${device}` };
}

/** Must be called before the first use of `navigator.gpu`. */
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
