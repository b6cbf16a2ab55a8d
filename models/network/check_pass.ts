/** Refuses passes that the model cannot do. */
import { RgxError } from "../../core/errors.ts";
import type { ForwardOptions } from "./types.ts";
import type { ModelSizes } from "./weights/model_sizes.ts";

/** What a pass depends on besides its options. */
interface PassModel {
  trainable: ModelSizes["trainable"];
  /** Whether nothing of the model is trained. */
  nothing: boolean;
  /** Whether its adapters have dropout. */
  dropout: boolean;
}

/** @throws RgxError for a pass without a temperature, or one that would train nothing */
export function checkPass(options: ForwardOptions, model: PassModel): void {
  const { temperature, train } = options, { adapter = true } = options;
  if (!(temperature > 0 && Number.isFinite(temperature))) {
    throw new RgxError(`forward: temperature is ${temperature}, expected a positive number`);
  }
  if (train && model.nothing) {
    throw new RgxError("forward: nothing of this model is trainable", {
      advice: 'create the model with trainable "lora" or "full"',
    });
  }
  if (train && !adapter && model.trainable === "lora") {
    throw new RgxError("forward: training with the adapter switched off would train nothing");
  }
  if (train && model.dropout && options.dropout === undefined) {
    throw new RgxError(
      "forward: training an adapter with lora_dropout needs the key of its masks",
      {
        advice: "give `dropout`, and a `promptId` with every group",
      },
    );
  }
}
