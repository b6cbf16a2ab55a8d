/**
 * Memory of the card that computes. WebGPU does not tell; the driver's own tools do: `nvidia-smi` for NVIDIA,
 * files of the kernel for AMD. Nothing is installed for it and nothing is contacted.
 */
import { availableBytes } from "../../../core/machine/memory.ts";
import type { AdapterInfo } from "../../device.ts";

const NVIDIA = 4318, AMD = 4098;

/** Bytes that may still be taken on the adapter; null where nobody tells. */
export async function gpuAvailableBytes(
  adapter: AdapterInfo,
  run: (command: string, args: string[]) => Promise<string | null> = output,
): Promise<number | null> {
  // A software adapter, and a card that shares the machine's memory, take from that.
  if (adapter.software) return await availableBytes();
  if (adapter.vendor === NVIDIA) {
    const query = ["--query-gpu=name,memory.free", "--format=csv,noheader,nounits"];
    return freeOfNvidia(await run("nvidia-smi", query), adapter.name);
  }
  return adapter.vendor === AMD ? freeOfAmd() : null;
}

/**
 * The least free memory among the cards of this name: which of several twins computes is not known.
 * @param table Lines "name, free MiB".
 */
export function freeOfNvidia(table: string | null, name: string): number | null {
  let least: number | null = null;
  for (const line of (table ?? "").split("\n")) {
    const comma = line.lastIndexOf(",");
    const free = Number(line.slice(comma + 1));
    if (comma < 0 || !Number.isFinite(free) || line.slice(0, comma).trim() !== name) continue;
    least = Math.min(least ?? Infinity, free * 2 ** 20);
  }
  return least;
}

function freeOfAmd(root = "/sys/class/drm"): number | null {
  try {
    let most: number | null = null;
    for (const { name } of Deno.readDirSync(root)) {
      if (!/^card[0-9]+$/.test(name)) continue;
      const read = (file: string) =>
        Number(Deno.readTextFileSync(`${root}/${name}/device/mem_info_vram_${file}`));
      most = Math.max(most ?? 0, read("total") - read("used"));
    }
    return most;
  } catch {
    return null;
  }
}

async function output(command: string, args: string[]): Promise<string | null> {
  try {
    const done = await new Deno.Command(command, { args, stdout: "piped", stderr: "null" })
      .output();
    return done.success ? new TextDecoder().decode(done.stdout) : null;
  } catch {
    return null; // not installed
  }
}
