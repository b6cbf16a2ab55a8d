// Every kernel of the WASM device, one line a file. Built by kernels/wasm/build.ts.
export * from "./memory.as";
export * from "../matmul/tiles.as";
export * from "../matmul/pack.as";
export * from "../matmul/dot.as";
export * from "../matmul/wasm.as";
export * from "../head/wasm.as";
export * from "../rmsnorm/wasm.as";
export * from "../rope/wasm.as";
export * from "../swiglu/wasm.as";
export * from "../attention/wasm.as";
export * from "../attention/backward.as";
export * from "../attention_decode/wasm.as";
export * from "../rows/wasm.as";
export * from "../sample/wasm.as";
export * from "../dropout/wasm.as";
export * from "../optimizer/wasm.as";
export * from "../elementwise/wasm.as";
