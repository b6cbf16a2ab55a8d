/**
 * `deno task gpu:static`: what can be known of the kernels of a card without one, as a table in
 * docs/gpu.md: workgroup memory, the cost of a subgroup's accesses, and what Mesa's offline
 * compiler for AMD cards says.
 */
import { writeFileAtomic } from "../core/atomic_file.ts";
import { type CardKernel, cardKernels } from "./gpu/card_kernels.ts";
import { CARD } from "./gpu/card_tensors.ts";
import { FAMILY, type KernelText, type Registers, registersOf } from "./gpu/registers.ts";
import { workgroupBytes } from "./gpu/workgroup_bytes.ts";
import { type Traffic, trafficOf } from "./wgsl/traffic.ts";
import { withSection } from "./performance_page.ts";

const PAGE = new URL("../docs/gpu.md", import.meta.url);
const TITLE = "The kernels without a card";

/** The text of a kernel with its bindings, for the compiler. */
export function kernelTextOf({ text, dispatch: { kernel } }: CardKernel): KernelText {
  const writes = kernel.bufferNames.map((name) => kernel.buffers[name]!.startsWith("write"));
  return { text, writes };
}

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
  if (UNTRACED.test(name)) return null;
  const params = { ...dispatch.params };
  if ("lda" in params || "b_base" in params) params["k"] = Math.min(params["k"]!, TRACED_TERMS);
  const isAttention = name.startsWith("attention");
  // The first workgroups have the most keys; late ones take a tenth of the time.
  const late: [number, number] = [Math.max(0, dispatch.groups[0] - 64), 0];
  return trafficOf(text, { ...dispatch, params }, CONTENTS, isAttention ? late : undefined);
}

function staticSection(
  kernels: readonly CardKernel[],
  registers: readonly Registers[] | string,
): string {
  const rows = kernels.map(({ name, text }, i) => {
    const found = typeof registers === "string" ? null : registers[i]!;
    const traffic = tracedTraffic(kernels[i]!);
    const share = (x: number | null | undefined) => x == null ? "–" : `${Math.round(100 * x)} %`;
    const cells = [
      name,
      workgroupBytes(text),
      traffic === null ? "–" : traffic.conflicts.toFixed(2),
      share(traffic?.reads),
      share(traffic?.writes),
    ];
    if (found !== null) cells.push(found.vgprs, found.spilled, found.waves);
    return `| ${cells.join(" | ")} |`;
  });
  const known = typeof registers !== "string";
  const head = ["kernel", "workgroup bytes", "bank cycles", "reads", "writes"];
  if (known) head.push("registers", "spilled", "waves");
  return [
    "Written by `deno task gpu:static`. The shapes are those of a model of 0.5 billion parameters on " +
    "an NVIDIA card (49 152 bytes of workgroup memory, 1024 invocations). A subgroup of 32 " +
    "invocations was simulated with the kernel's text (`tools/wgsl/`): bank cycles are those of " +
    "workgroup memory over those without conflicts; reads and writes say what share of the 32-byte " +
    "sectors of buffers is used at once (caches keep the rest). A dash: it was not simulated. " +
    "Kernels on matrix units are not here: neither the simulation nor the compiler knows them. " +
    "Kernels with the text of one above are left out. " +
    (known
      ? `Registers of an invocation, values that do not fit into them, and waves on a SIMD are of an ` +
        `AMD card (${FAMILY}, RDNA 2): Mesa's compiler gives them without a card.`
      : `Registers are not known: ${registers}.`),
    `| ${head.join(" | ")} |\n| --- | ${head.slice(1).map(() => "---:").join(" | ")} |\n` +
    rows.join("\n"),
  ].join("\n\n");
}

if (import.meta.main) {
  const kernels = cardKernels();
  const registers = await registersOf(kernels.map(kernelTextOf));
  const page = await Deno.readTextFile(PAGE);
  const section = staticSection(kernels, registers);
  await writeFileAtomic(PAGE.pathname, withSection(page, TITLE, section));
}
