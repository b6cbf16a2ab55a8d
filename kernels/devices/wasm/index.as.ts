// All kernels of the WASM device, one line per file. Compiled by kernels/devices/wasm/build.ts.
export * from "../../memory.as";
export * from "../../ops/matmul/wasm/tiles.as";
export * from "../../ops/matmul/wasm/pack.as";
export * from "../../ops/matmul/wasm/halves.as";
export * from "../../ops/matmul/wasm/dot.as";
export * from "../../ops/matmul/wasm/blocks.as";
export * from "../../ops/matmul/wasm/stored.as";
export * from "../../ops/matmul/wasm/int8_tiles.as";
export * from "../../ops/matmul/wasm/int8.as";
export * from "../../ops/matmul/wasm/rounded.as";
export * from "../../weights/codes.as";
export * from "../../weights/halves.as";
export * from "../../weights/transpose.as";
export * from "../../weights/scales.as";
export * from "../../weights/split.as";
