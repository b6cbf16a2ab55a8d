/**
 * `deno task gpu:static`: what can be known of the kernels of a card without one, as a table in
 * docs/gpu.md: workgroup memory, and what Mesa's offline compiler for AMD cards says.
 */
import { writeFileAtomic } from "../core/atomic_file.ts";
import { type CardKernel, cardKernels } from "./gpu/card_kernels.ts";
import { FAMILY, type KernelText, type Registers, registersOf } from "./gpu/registers.ts";
import { workgroupBytes } from "./gpu/workgroup_bytes.ts";
import { withSection } from "./performance_page.ts";

const PAGE = new URL("../docs/gpu.md", import.meta.url);
const TITLE = "The kernels without a card";

/** The text of a kernel with its bindings, for the compiler. */
export function kernelTextOf({ text, dispatch: { kernel } }: CardKernel): KernelText {
  const writes = kernel.bufferNames.map((name) => kernel.buffers[name]!.startsWith("write"));
  return { text, writes };
}

export function staticSection(
  kernels: readonly CardKernel[],
  registers: readonly Registers[] | string,
): string {
  const rows = kernels.map(({ name, text }, i) => {
    const found = typeof registers === "string" ? null : registers[i]!;
    const cells = [name, workgroupBytes(text)];
    if (found !== null) cells.push(found.vgprs, found.spilled, found.waves);
    return `| ${cells.join(" | ")} |`;
  });
  const known = typeof registers !== "string";
  const head = ["kernel", "workgroup bytes"];
  if (known) head.push("registers", "spilled", "waves");
  return [
    "Written by `deno task gpu:static`. The shapes are those of a model of 0.5 billion parameters on " +
    "an NVIDIA card (49 152 bytes of workgroup memory, 1024 invocations). " +
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
