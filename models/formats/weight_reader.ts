/** What a source of weights offers to those who load or convert a model, whatever file format is behind it. */
import type { WeightType } from "./stored_weight.ts";

/** The weights of a file, by Hugging Face name, read one at a time. Row-major. */
export interface WeightReader {
  /** What messages call them: a folder or a file. */
  readonly label: string;
  /** Widened; null when there is no such tensor. @throws RgxError for a wrong shape */
  values(
    name: string,
    shape: readonly number[],
  ): Promise<Float32Array | Float64Array | null>;
  /**
   * Whether there is such a tensor, from what the file says of itself; absent where only a read tells.
   * @throws RgxError for a wrong shape
   */
  holds?(name: string, shape: readonly number[]): boolean;
  /** The type that it is stored in, where products read it as it is; null for others, or no such tensor. */
  typeOf(name: string): WeightType | null;
  /** Whether it is stored as float32, which `typeOf` does not tell; absent, or false, where its bytes are not given. */
  isFloat32?(name: string): boolean;
  /** As stored, of a tensor that has a `typeOf` or `isFloat32`. @throws RgxError for a wrong shape */
  bytes(name: string, shape: readonly number[]): Promise<Uint8Array<ArrayBuffer>>;
  /** Fills `out` with these from byte `from` on; absent, or false, where they are only read at once. */
  bytesInto?(
    name: string,
    shape: readonly number[],
    from: number,
    out: Uint8Array<ArrayBuffer>,
  ): Promise<boolean>;
}

/**
 * Where weights come from: a file, a map, or a function that is asked once per tensor by its Hugging Face name
 * and returns null when there is no such tensor. Row-major, of exactly the shape's size.
 */
export type WeightSource =
  | WeightReader
  | ReadonlyMap<string, Float32Array | Float64Array>
  | ((
    name: string,
    shape: readonly number[],
  ) => Float32Array | Float64Array | null | Promise<Float32Array | Float64Array | null>);
