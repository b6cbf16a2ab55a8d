/** Makes small GGUF files for tests. Not part of the program. */
import { ggufHead, type GgufWritten } from "./gguf_writer.ts";

export type TestMetadata = Record<string, GgufWritten>;

export interface TestTensor {
  name: string;
  /** Row-major. */
  shape: readonly number[];
  typeId: number;
  data: Uint8Array;
  /** Default: after the tensor before, aligned. */
  offset?: number;
}

export function encodeTestGguf(
  metadata: TestMetadata,
  tensors: readonly TestTensor[],
  { version = 3, alignment = 32 } = {},
): Uint8Array<ArrayBuffer> {
  const places: number[] = [];
  let end = 0;
  for (const { data } of tensors) {
    places.push(Math.ceil(end / alignment) * alignment);
    end = places.at(-1)! + data.length;
  }
  const entries = tensors.map((tensor, i) => ({ offset: places[i]!, ...tensor }));
  const head = ggufHead(new Map(Object.entries(metadata)), entries, { version, alignment });
  const out = new Uint8Array(head.length + end);
  out.set(head);
  tensors.forEach(({ data }, i) => out.set(data, head.length + places[i]!));
  return out;
}
