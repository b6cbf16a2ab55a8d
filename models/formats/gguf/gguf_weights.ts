/**
 * The weights of a language model in a GGUF file, under their Hugging Face names, widened to
 * float32 or as they are stored. What llama.cpp's converter changes (gguf_layout.ts) is undone. The
 * tokenizer is in gguf_tokenizer.ts, the frequency divisors in rope_scaling.ts.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { architectureOf, modelTensors } from "../../architectures/mod.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { transposeEach } from "../expert_files.ts";
import type { GgufFile } from "./gguf.ts";
import { blockIn, type GgufLayout, ggufLayout, rowsFromFile } from "./gguf_layout.ts";
import { ROPE_TENSORS } from "./rope_scaling.ts";
import { readPieces } from "../byte_source.ts";
import { elementCount } from "../element_count.ts";
import { storedType } from "../stored_weight.ts";
import type { WeightReader } from "../weight_reader.ts";

/**
 * The weights by Hugging Face name; each call reads its tensor.
 * @throws UsageError for a tensor that is not understood; the reader throws RgxError for a wrong
 *   shape
 */
export function ggufWeights(file: GgufFile, config: ModelConfig): WeightReader {
  const unknown = new Set(file.tensors.keys());
  const layouts = new Map<string, GgufLayout & { given: readonly number[] }>();
  for (const name of ROPE_TENSORS) unknown.delete(name);
  for (const tensor of modelTensors(config)) {
    const layout = ggufLayout(config, tensor);
    const found = layout.names.filter((name) => unknown.delete(name));
    if (found.length < layout.names.length) continue;
    layouts.set(tensor.name, { ...layout, given: tensor.shape });
  }
  for (const name of unknown) {
    // The layers of a further head, which is left aside.
    const { gguf } = architectureOf(config), layer = Number(name.match(/^blk\.(\d+)\./)?.[1]);
    if (gguf === "qwen35" && layer >= config.numLayers) continue;
    throw new UsageError(`${file.label}: the tensor "${name}" is not understood`, {
      advice: "The model computes something that rgx does not: use another model.",
    });
  }
  const placed = (name: string, shape: readonly number[]) => {
    const layout = layouts.get(name)!;
    const expected = String(shape) === String(layout.given) ? layout.shape : shape;
    for (const stored of layout.names) {
      const found = file.info(stored).shape;
      if (String(found) === String(expected)) continue;
      throw new RgxError(
        `${file.label}: tensor "${stored}" has shape [${found.join(", ")}], expected ` +
          `[${expected.join(", ")}] (${elementCount(expected)} values) by the file's metadata`,
        { advice: "The file is damaged or its metadata belong to another model." },
      );
    }
    return layout;
  };
  const dtype = (name: string): string | null => {
    const layout = layouts.get(name);
    // Bytes are in order where only rows are in another one.
    if (layout === undefined || layout.transposed || layout.columns || layout.change) return null;
    const types = new Set(layout.names.map((stored) => file.info(stored).type.name));
    return types.size === 1 ? [...types][0]! : null;
  };
  return {
    label: file.label,
    holds(name, shape) {
      if (!layouts.has(name)) return false;
      placed(name, shape);
      return true;
    },
    async values(name, shape) {
      if (!layouts.has(name)) return null;
      const layout = placed(name, shape), { change, transposed } = layout;
      const parts = await Promise.all(layout.names.map((stored) => file.float32(stored)));
      const values = rowsFromFile(layout, parts);
      if (transposed) return transposeEach(values, 1, shape[1]!);
      return change === null ? values : values.map(change.fromFile);
    },
    typeOf(name) {
      const type = dtype(name);
      return type === null ? null : storedType(type);
    },
    dtype,
    async bytes(name, shape) {
      const layout = placed(name, shape);
      return rowsFromFile(
        layout,
        await Promise.all(layout.names.map((stored) => file.bytes(stored))),
      );
    },
    async bytesInto(name, shape, from, out) {
      const layout = placed(name, shape), { names, places, count } = layout;
      const { begin, end } = file.info(names[0]!);
      if (places === null) await file.bytesInto(names[0]!, from, out);
      else if (names.length === 1) return false;
      else {
        const size = (end - begin) * names.length / (count * places.length);
        await readPieces(size, from, out, async (index, at, part) => {
          const [tensor, block] = blockIn(layout, index);
          await file.bytesInto(names[tensor]!, block * size + at, part);
        });
      }
      return true;
    },
  };
}
