/**
 * `deno task gpu:static`: what can be known of the kernels of a card without one, as a table in
 * docs/gpu.md: workgroup memory, the cost of a subgroup's accesses, and what Mesa's offline
 * compilers for AMD cards say. With `--mesa FOLDER` (tools/testing/lavapipe.sh FOLDER trixie) a
 * newer one, too, which knows matrix units.
 */
import { parseArgs } from "node:util";
import { writeFileAtomic } from "../core/atomic_file.ts";
import { type CardKernel, cardKernels, UNITS } from "./gpu/card_kernels.ts";
import { CARD } from "./gpu/card_tensors.ts";
import {
  FAMILY,
  type KernelText,
  type Registers,
  registersOf,
  UNITS_FAMILY,
} from "./gpu/registers.ts";
import { workgroupBytes } from "./gpu/workgroup_bytes.ts";
import { type Traffic, trafficOf } from "./wgsl/traffic.ts";
import { withSection } from "./performance_page.ts";

const PAGE = new URL("../docs/gpu.md", import.meta.url);
const TITLE = "The kernels without a card";

/** The text of a kernel with its bindings, for the compiler. */
export function kernelTextOf({ text, dispatch: { kernel } }: CardKernel): KernelText {
  const writes = kernel.bufferNames.map((name) => kernel.buffers[name]!.startsWith("write"));
  return { text, writes, subgroup: isOnUnits(text) ? UNITS.subgroup : null };
}

/** Whether a kernel multiplies on matrix units. */
export const isOnUnits = (text: string) => text.includes("enable wgpu_cooperative_matrix;");

/** Terms of a product that are traced: its accesses repeat after each tile. */
const TRACED_TERMS = 64;
/** The loops of these depend on what others have computed. */
const UNTRACED = /\.keys$|\.limits$|\.merge$/;
/**
 * What loops depend on: one prompt of many rows, branches with that
 * prompt and 128 tokens of their own, and one target, or entry, for each row.
 */
const CONTENTS = {
  segments: [0, CARD.rows, 0, 0, CARD.rows],
  branches: Array.from({ length: CARD.branches }, (_, b) => [0, 2048, b, 128, 0, 0]).flat(),
  pair_start: Array.from({ length: CARD.headRows + 1 }, (_, row) => row),
  runs: Array.from({ length: CARD.rows + 1 }, (_, row) => row),
};

/** What the accesses of a kernel cost; null where it cannot be traced. */
export function tracedTraffic({ name, text, dispatch }: CardKernel): Traffic | null {
  if (UNTRACED.test(name) || isOnUnits(text)) return null;
  const params = { ...dispatch.params };
  if ("lda" in params || "b_base" in params) params["k"] = Math.min(params["k"]!, TRACED_TERMS);
  const isAttention = name.startsWith("attention");
  // The first workgroups have the most keys; late ones take a tenth of the time.
  const late: [number, number] = [Math.max(0, dispatch.groups[0] - 64), 0];
  return trafficOf(text, { ...dispatch, params }, CONTENTS, isAttention ? late : undefined);
}

/** What the compilers say of the kernels; a text: why one of them says nothing. */
interface Compiled {
  /** Of kernels that are not on matrix units, for {@link FAMILY}. */
  system: readonly Registers[] | string;
  /** Of all kernels, for {@link UNITS_FAMILY}. */
  newer: readonly Registers[] | string;
}

async function compiled(kernels: readonly CardKernel[], mesa: string | null): Promise<Compiled> {
  const plain = kernels.filter(({ text }) => !isOnUnits(text));
  const newer = mesa === null
    ? "no newer Mesa was given"
    : await registersOf(kernels.map(kernelTextOf), mesa);
  return { system: await registersOf(plain.map(kernelTextOf)), newer };
}

function staticSection(kernels: readonly CardKernel[], { system, newer }: Compiled): string {
  const columns = [system, newer].filter((found) => typeof found !== "string");
  let plain = 0;
  const rows = kernels.map((kernel, i) => {
    const { name, text } = kernel, onUnits = isOnUnits(text);
    const traffic = tracedTraffic(kernel);
    const share = (x: number | null | undefined) => x == null ? "–" : `${Math.round(100 * x)} %`;
    const cells = [
      name,
      workgroupBytes(text),
      traffic === null ? "–" : traffic.conflicts.toFixed(2),
      share(traffic?.reads),
      share(traffic?.writes),
      ...columns.flatMap((found) => {
        if (found === system && onUnits) return ["–", "–"];
        const { vgprs, spilled, waves } = found[found === system ? plain : i]!;
        return [spilled === 0 ? vgprs : `${vgprs} + ${spilled}`, waves];
      }),
    ];
    if (!onUnits) plain++;
    return `| ${cells.join(" | ")} |`;
  });
  const head = ["kernel", "workgroup bytes", "bank cycles", "reads", "writes"];
  const families = [[system, "RDNA 2"], [newer, "RDNA 3"]] as const;
  const known = families.filter(([found]) => typeof found !== "string");
  for (const [, family] of known) head.push(`registers, ${family}`, `waves, ${family}`);
  const unknown = families.filter(([found]) => typeof found === "string");
  return [
    "Written by `deno task gpu:static`. The shapes are those of a model of 0.5 billion parameters on " +
    "an NVIDIA card (49 152 bytes of workgroup memory, 1024 invocations). A subgroup of 32 " +
    "invocations was simulated with the kernel's text (`tools/wgsl/`): bank cycles are those of " +
    "workgroup memory over those without conflicts; reads and writes say what share of the 32-byte " +
    "sectors of buffers is used at once (caches keep the rest). A dash: it was not simulated, as " +
    "kernels on matrix units are not. Kernels with the text of one above are left out.",
    "Mesa's compilers for AMD cards give registers of an invocation and waves on a SIMD without a " +
    `card: the one of Debian 12 for RDNA 2 (${FAMILY}), that of Debian 13 (Mesa 25.0, \`--mesa\`) ` +
    `for RDNA 3 (${UNITS_FAMILY}), whose matrix units it uses (\`v_wmma_f32_16x16x16_f16\`). ` +
    '"104 + 3" would be 104 registers, and 3 values that do not fit into them.' +
    unknown.map(([found, family]) => ` ${family} is not known: ${found}.`).join(""),
    `| ${head.join(" | ")} |\n| --- | ${head.slice(1).map(() => "---:").join(" | ")} |\n` +
    rows.join("\n"),
  ].join("\n\n");
}

if (import.meta.main) {
  const { values: { mesa = null } } = parseArgs({ options: { mesa: { type: "string" } } });
  const kernels = cardKernels(), page = await Deno.readTextFile(PAGE);
  const section = staticSection(kernels, await compiled(kernels, mesa));
  await writeFileAtomic(PAGE.pathname, withSection(page, TITLE, section));
}
