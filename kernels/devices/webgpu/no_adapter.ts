/** Explains why no GPU was found, from files and devices, and names the command that helps. */
import { EXIT, RgxError } from "../../../core/errors.ts";

/** Access to the machine's files, which tests replace. */
export interface Machine {
  os: string;
  exists(path: string): boolean;
  canOpen(path: string): boolean;
}

const ICD_FOLDERS = [
  "/usr/share/vulkan/icd.d",
  "/etc/vulkan/icd.d",
  "/usr/local/share/vulkan/icd.d",
];
const LOADERS = [
  "/usr/lib/x86_64-linux-gnu/libvulkan.so.1",
  "/usr/lib/aarch64-linux-gnu/libvulkan.so.1",
  "/usr/lib64/libvulkan.so.1",
  "/usr/lib/libvulkan.so.1",
];

/** One sentence for each missing thing, the most basic first. */
export function missingForGpu(machine: Machine = thisMachine()): string[] {
  if (machine.os !== "linux") return [];
  const found: string[] = [];
  if (!LOADERS.some((path) => machine.exists(path))) {
    found.push("the Vulkan loader libvulkan.so.1 is not there: apt-get install libvulkan1");
  }
  const nvidia = machine.exists("/dev/nvidia0") || machine.exists("/proc/driver/nvidia/version");
  if (nvidia && !ICD_FOLDERS.some((folder) => machine.exists(`${folder}/nvidia_icd.json`))) {
    found.push(
      "there is an NVIDIA card, but its Vulkan driver file nvidia_icd.json is in none of " +
        `${ICD_FOLDERS.join(", ")}: install the driver's graphics part (libnvidia-gl), in a ` +
        "container set NVIDIA_DRIVER_CAPABILITIES=all, or point VK_DRIVER_FILES at the file",
    );
  }
  const devices = ["/dev/nvidia0", "/dev/dri/renderD128"].filter((path) => machine.exists(path));
  for (const path of devices) {
    if (!machine.canOpen(path)) {
      found.push(`${path} may not be opened by this user: add the user to the group of that file`);
    }
  }
  if (devices.length === 0 && !nvidia) {
    found.push(
      "no graphics card is visible (/dev/nvidia0, /dev/dri/renderD128); ask the scheduler for " +
        "one (--gres=gpu:1), or install Mesa's software driver for trials: " +
        "apt-get install mesa-vulkan-drivers",
    );
  }
  return found;
}

export function noAdapterError(machine?: Machine): RgxError {
  const missing = missingForGpu(machine);
  const reasons = missing.map((reason) => `\n  - ${reason}`).join("");
  return new RgxError(`no GPU adapter was found${missing.length > 0 ? ":" : ""}${reasons}`, {
    advice: "compute on the CPU with --device wasm, or plan for a card of another machine with " +
      "--dry-run --gpu NAME; rgx doctor shows what this machine has",
    exitCode: EXIT.usage,
  });
}

function thisMachine(): Machine {
  return {
    os: Deno.build.os,
    exists: (path) => {
      try {
        Deno.statSync(path);
        return true;
      } catch {
        return false;
      }
    },
    canOpen: (path) => {
      try {
        Deno.openSync(path, { read: true, write: true }).close();
        return true;
      } catch {
        return false;
      }
    },
  };
}
