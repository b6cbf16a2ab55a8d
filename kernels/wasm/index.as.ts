// Every kernel of the WASM device, one line a file. Built by kernels/wasm/build.ts.
export * from "./memory.as";
export * from "../matmul/tiles.as";
export * from "../matmul/pack.as";
export * from "../matmul/wasm.as";
