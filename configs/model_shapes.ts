/**
 * The sizes of models that need not be there: of the model that a configuration describes in `model.shape`,
 * and of those in `models/*.yaml`. They are fields of a model's own config.json; who reads them checks them.
 */
import { parse } from "yaml";
import { EMBEDDED } from "./documents/embedded.ts";
import type { RunConfig } from "./schema/run_config.ts";

/** Fields of a `config.json`. */
export type ModelShape = Readonly<Record<string, unknown>>;

/** The models of `models/*.yaml` by name. */
export function embeddedShapes(): Map<string, ModelShape> {
  const shapes = new Map<string, ModelShape>();
  for (const [path, text] of EMBEDDED) {
    if (!path.startsWith("models/")) continue;
    const shape = parse(text)?.model?.shape;
    if (shape !== undefined) add(shapes, shape);
  }
  return shapes;
}

/** The shape of the model that is named; null when neither the configuration nor an embedded file knows it. */
export function shapeOf(
  { model_name_or_path: name, shape }: RunConfig["model"],
): ModelShape | null {
  const shapes = embeddedShapes();
  if (shape !== null) add(shapes, shape);
  if (name === null) return null;
  // The oldest models of the Hub also go by a name without their organisation.
  const found = shapes.get(name) ?? [...shapes].find(([of]) => of.endsWith(`/${name}`))?.[1];
  return found ?? null;
}

function add(shapes: Map<string, ModelShape>, { of, ...shape }: Record<string, unknown>): void {
  if (typeof of === "string") shapes.set(of, shape);
}
