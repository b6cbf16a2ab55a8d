// Every kernel of the WASM device, one line a file. Built by kernels/wasm/build.ts.
export * from "./memory.as";
