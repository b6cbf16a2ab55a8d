/** What a dispatch must keep to, before it is recorded. */
import { RgxError } from "../../../core/errors.ts";
import type { AdapterInfo } from "../../device.ts";
import type { Dispatch, WebgpuLimits } from "../../ops/common/webgpu_op.ts";
import type { WebgpuTensor } from "./tensor.ts";

/** @throws RgxError when a tensor is larger than the adapter allows */
export function checkDispatch(
  { kernel, params = {} }: Dispatch,
  tensors: readonly WebgpuTensor[],
  { limits, adapter }: { readonly limits: WebgpuLimits; readonly adapter: AdapterInfo },
): void {
  const { bindingElements } = limits;
  const large = tensors.find((tensor) => tensor.length > bindingElements);
  if (large !== undefined) {
    const buffers = kernel.bufferNames.map((name, i) => `${name}[${tensors[i]!.length}]`);
    const values = Object.entries(params).map(([name, value]) => `${name} = ${value}`);
    const given = values.length > 0 ? ` with ${values.join(", ")}` : "";
    throw new RgxError(
      `${kernel.name} on ${buffers.join(", ")}${given}: "${large.label}" has ` +
        `${4 * large.length} bytes, and ${adapter.name} binds at most ${4 * bindingElements}`,
      { advice: "make the batch or the sequences smaller" },
    );
  }
  for (const name of kernel.paramTypes.keys()) {
    if (typeof params[name] !== "number") {
      throw new Error(`${kernel.name}: the parameter ${name} is missing`);
    }
  }
}
