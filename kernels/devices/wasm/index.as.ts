// All kernels of the WASM device, one line per file. Compiled by kernels/devices/wasm/build.ts.
export * from "../../memory.as";
export * from "../../ops/matmul/wasm/stored.as";
export * from "../../ops/matmul/wasm/int8_tiles.as";
export * from "../../ops/matmul/wasm/int8.as";
export * from "../../weights/codes.as";
export * from "../../weights/scales.as";
export * from "../../weights/split.as";
