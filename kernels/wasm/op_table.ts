/** Which host binding runs which operation on the WASM device. One line an operation. */
import { matmulWasm } from "../matmul/wasm.ts";
import type { OpName, Ops } from "../ops.ts";
import type { WasmOp } from "./wasm_op.ts";

export const wasmOps: { [K in OpName]?: WasmOp<Ops[K]> } = {
  matmul: matmulWasm,
};
