/** The device that `training.use_cpu` asks for, beside one that is named on the command line. */
import { UsageError } from "../core/errors.ts";

/**
 * The device of a run: the named one, or `wasm` where `use_cpu` is true and none is named.
 * @param named a device's name; undefined or "auto" names none
 * @param source where it is named, for the message: `--device` or `RGX_DEVICE`
 * @throws UsageError when a graphics card is named and the configuration asks for the CPU
 */
export function deviceOfConfig(
  { use_cpu: useCpu }: { readonly use_cpu: boolean },
  named: string | undefined,
  source = "--device",
): string | undefined {
  if (!useCpu) return named;
  if (named === undefined || named === "auto") return "wasm";
  if (!/^(webgpu|vulkan)/.test(named)) return named;
  throw new UsageError(`${source} ${named}: training.use_cpu is true, which asks for the CPU`, {
    advice: "Give one of them: training.use_cpu=false takes the key back.",
  });
}
