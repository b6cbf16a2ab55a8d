/** What a device says of weights that it does not compute with yet. */
import { RgxError } from "../../core/errors.ts";
import type { WeightType } from "./types.ts";

/** @throws RgxError when there is a type */
export function refuseStored(device: string, op: string, type: WeightType | undefined): void {
  if (type === undefined) return;
  throw new RgxError(`${op}: the ${device} device does not read ${type} weights here yet`, {
    advice: "load the model with float weights, or use another device",
  });
}
