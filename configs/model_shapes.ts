/**
 * The sizes of models that need not be on disk: of the model that the configuration describes in
 * `model.shape`, of the embedded ones in `models/*.yaml`, and of further known ones. They are
 * fields of the config.json of the model. The reader of the sizes checks them.
 */
import { parse } from "yaml";
import { modelName } from "../hub/repository.ts";
import { EMBEDDED } from "./documents/embedded.ts";
import { KNOWN_MODELS, type ModelShape, SAME_SIZES } from "./known_models.ts";
import type { RunConfig } from "./schema/run_config.ts";

export type { ModelShape } from "./known_models.ts";

/** The sizes of the models in `models/*.yaml` and of further known ones, by name. */
export function embeddedShapes(): Map<string, ModelShape> {
  const shapes = new Map<string, ModelShape>();
  for (const [path, text] of EMBEDDED) {
    if (!path.startsWith("models/")) continue;
    const shape = parse(text)?.model?.shape;
    if (shape !== undefined) add(shapes, shape);
  }
  for (const { names, shape } of KNOWN_MODELS) {
    for (const name of names) shapes.set(name, shape);
  }
  for (const [name, as, different] of SAME_SIZES) {
    shapes.set(name, { ...shapes.get(as)!, ...different });
  }
  return shapes;
}

/**
 * The sizes of the model that is named; null when neither the configuration nor an embedded file
 * has them.
 */
export function shapeOf(
  { model_name_or_path: asked, shape }: RunConfig["model"],
): ModelShape | null {
  const shapes = embeddedShapes();
  if (shape !== null) add(shapes, shape);
  if (asked === null) return null;
  const name = modelName(asked);
  // The oldest models of the Hub are also known by a name without organisation.
  const found = shapes.get(name) ?? [...shapes].find(([of]) => of.endsWith(`/${name}`))?.[1];
  return found ?? null;
}

function add(shapes: Map<string, ModelShape>, { of, ...shape }: Record<string, unknown>): void {
  if (typeof of === "string") shapes.set(of, shape);
}
