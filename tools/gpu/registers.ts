/**
 * What an offline shader compiler says of kernels: Mesa's compiler for AMD cards (ACO in RADV),
 * which needs no card. The program starts itself with the variables that make RADV pretend one
 * (`RADV_FORCE_FAMILY`) and print statistics of each pipeline (`RADV_DEBUG=shaderstats`). WebGPU
 * cannot open such a device, because it has no semaphores; the calls of the device `vulkan` can.
 */
import {
  computeQueue,
  createDevice,
  createInstance,
  listPhysical,
  requestFeatures,
} from "../../kernels/devices/vulkan/physical.ts";
import { wgslToSpirv } from "../../kernels/devices/vulkan/naga.ts";
import { PipelineObjects } from "../../kernels/devices/vulkan/pipeline_objects.ts";
import type { GpuLayoutEntry } from "../../kernels/devices/webgpu/gpu.ts";

/** Statistics of a kernel on an AMD card. */
export interface Registers {
  /** Vector registers of an invocation, and how many values did not fit into registers. */
  vgprs: number;
  spilled: number;
  /** Bytes of memory for them, for each wave. */
  scratch: number;
  /** Bytes of workgroup memory. */
  lds: number;
  /** Waves that fit on a SIMD at a time. */
  waves: number;
}

/** A kernel to compile: its text, and for each of its buffers whether it is written. */
export interface KernelText {
  text: string;
  writes: boolean[];
  /** Invocations that its subgroups must have; null: what the driver likes. */
  subgroup: number | null;
}

/** Where Debian and others keep the file of the driver. */
const DRIVER = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
/** RDNA 2, as in a Radeon RX 6900. Mesa 22.3 knows RDNA 3 too, but spills there. */
export const FAMILY = "NAVI21";
/**
 * RDNA 3, as in a Radeon RX 7900, with matrix units, for Mesa 25.0. That version offers none for
 * RDNA 4 (GFX1201) without a card, and Mesa 26.1 has no RADV_FORCE_FAMILY any more.
 */
export const UNITS_FAMILY = "NAVI31";

const MARK = "### kernel ";

/**
 * @param mesa a folder of tools/testing/lavapipe.sh with the suite trixie, whose compiler knows
 *   matrix units; null: the driver of the system
 * @returns statistics in the order of the kernels, or why there are none, in a sentence
 */
export async function registersOf(
  kernels: readonly KernelText[],
  mesa: string | null = null,
): Promise<Registers[] | string> {
  const driver = mesa === null ? DRIVER : `${mesa}/radeon.json`;
  const isThere = await Deno.stat(driver).then(() => true, () => false);
  if (!isThere) return `Mesa's driver for AMD cards is not installed (${driver})`;
  const flags = ["run", "-A", "--quiet", "--no-check", "--unstable-raw-imports"];
  const deno = [Deno.execPath(), ...flags, import.meta.filename!];
  const [program, ...args] = mesa === null ? deno : [`${mesa}/run`, ...deno];
  const child = new Deno.Command(program!, {
    args,
    env: {
      VK_DRIVER_FILES: driver,
      VK_ICD_FILENAMES: driver,
      RADV_FORCE_FAMILY: mesa === null ? FAMILY : UNITS_FAMILY,
      RADV_DEBUG: "shaderstats,nocache",
      ...(mesa === null ? {} : { MESA_DRIVER: "radeon", RGX_VULKAN_LIB: `${mesa}/libvulkan.so.1` }),
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(kernels))).catch(() => {});
  await writer.close().catch(() => {});
  const { success, stderr } = await child.output(), text = new TextDecoder().decode(stderr);
  if (!success) return `Mesa's compiler failed: ${text.trim().split("\n").at(-1)}`;
  return text.split(MARK).slice(1).map(parse);
}

function parse(text: string): Registers {
  const of = (name: string) => Number(new RegExp(`^\\s*${name}: ([0-9]+)`, "m").exec(text)?.[1]);
  return {
    vgprs: of("VGPRs"),
    spilled: of("Spilled VGPRs"),
    scratch: of("Scratch size"),
    lds: of("LDS size"),
    waves: of("Subgroups per SIMD"),
  };
}

/** Compiles the kernels, in the process that pretends a card. */
function compile(kernels: readonly KernelText[]): void {
  const { vulkan, instance } = createInstance();
  const physical = listPhysical(vulkan, instance)[0]!, { family } = computeQueue(vulkan, physical);
  const device = createDevice(
    vulkan,
    physical,
    family,
    requestFeatures(vulkan, instance, physical),
  );
  const objects = new PipelineObjects({ vulkan, device }, null);
  const encoder = new TextEncoder();
  kernels.forEach(({ text, writes, subgroup }, i) => {
    const entries: GpuLayoutEntry[] = [
      { binding: 0, buffer: { type: "uniform" } },
      ...writes.map(
        (written, j) => ({
          binding: j + 1,
          buffer: { type: written ? "storage" as const : "read-only-storage" as const },
        }),
      ),
    ] as GpuLayoutEntry[];
    const layout = objects.pipelineLayout(objects.setLayout(entries));
    Deno.stderr.writeSync(encoder.encode(`${MARK}${i}\n`));
    const spirv = wgslToSpirv(text, { checked: true, checkedBuffers: false });
    objects.pipeline(spirv, "main", layout.handle, subgroup);
  });
}

if (import.meta.main) compile(JSON.parse(await new Response(Deno.stdin.readable).text()));
