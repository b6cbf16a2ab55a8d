/**
 * The free memory of a GPU. WebGPU does not report it, so it is read from the driver: with
 * `nvidia-smi` for NVIDIA, from files of the kernel for AMD.
 */
import { availableBytes } from "../../../core/machine/memory.ts";
import { runCommand } from "../../../core/machine/run_command.ts";
import type { AdapterInfo } from "../../device.ts";

const NVIDIA = 4318, AMD = 4098;

/** Bytes that can still be allocated on the adapter; null when unknown. */
export async function gpuAvailableBytes(
  adapter: AdapterInfo,
  run: (command: string, args: string[]) => Promise<string | null> = output,
): Promise<number | null> {
  // A software adapter uses the memory of the machine.
  if (adapter.software) return await availableBytes();
  if (adapter.vendor === NVIDIA) {
    const query = ["--query-gpu=name,memory.free", "--format=csv,noheader,nounits"];
    return freeOfNvidia(await run("nvidia-smi", query), adapter.name);
  }
  return adapter.vendor === AMD ? freeOfAmd() : null;
}

/**
 * The minimum of free memory among the cards with this name, because it is unknown which of them
 * is used.
 * @param table lines "name, free MiB"
 */
export function freeOfNvidia(table: string | null, name: string): number | null {
  let min: number | null = null;
  for (const line of (table ?? "").split("\n")) {
    const comma = line.lastIndexOf(",");
    const free = Number(line.slice(comma + 1));
    if (comma < 0 || !Number.isFinite(free) || line.slice(0, comma).trim() !== name) continue;
    min = Math.min(min ?? Infinity, free * 2 ** 20);
  }
  return min;
}

function freeOfAmd(root = "/sys/class/drm"): number | null {
  try {
    let max: number | null = null;
    for (const { name } of Deno.readDirSync(root)) {
      if (!/^card[0-9]+$/.test(name)) continue;
      const read = (file: string) =>
        Number(Deno.readTextFileSync(`${root}/${name}/device/mem_info_vram_${file}`));
      max = Math.max(max ?? 0, read("total") - read("used"));
    }
    return max;
  } catch {
    return null;
  }
}

async function output(command: string, args: string[]): Promise<string | null> {
  const ended = await runCommand([command, ...args]);
  return ended?.success ? ended.out : null;
}
