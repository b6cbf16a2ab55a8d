/** The interface between files of weights and the code that loads or converts a model. */
import type { WeightType } from "./stored_weight.ts";

/** The weights of a file, by Hugging Face name, read one at a time. Row-major. */
export interface WeightReader {
  /** The name of the folder or file in messages. */
  readonly label: string;
  /**
   * Values as floats; null when there is no such tensor.
   * @throws RgxError for a wrong shape
   */
  values(
    name: string,
    shape: readonly number[],
  ): Promise<Float32Array | Float64Array | null>;
  /**
   * Whether there is such a tensor, according to the file's header. Absent where this is only known
   * after a read.
   * @throws RgxError for a wrong shape
   */
  holds?(name: string, shape: readonly number[]): boolean;
  /**
   * The storage type of a tensor that products can read as it is; null for other types, or when
   * there is no such tensor.
   */
  typeOf(name: string): WeightType | null;
  /**
   * The type of a tensor in its file, such as "F32" or "Q5_K"; null when there is no such tensor,
   * or its bytes are not in order.
   */
  dtype?(name: string): string | null;
  /**
   * The stored bytes of a tensor for which `dtype` gives a type.
   * @throws RgxError for a wrong shape
   */
  bytes(name: string, shape: readonly number[]): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Fills `out` with the stored bytes from byte `from` on. Absent, or returns false, when they can
   * only be read as a whole.
   */
  bytesInto?(
    name: string,
    shape: readonly number[],
    from: number,
    out: Uint8Array<ArrayBuffer>,
  ): Promise<boolean>;
}

/** Where weights come from: a file, or a map by Hugging Face name whose values are row-major. */
export type WeightSource = WeightReader | ReadonlyMap<string, Float32Array | Float64Array>;
