/**
 * Builds `wgsl_to_spirv.wasm` from `lib.rs` and the crate naga, with cargo. It needs Rust's target
 * wasm32-unknown-unknown, a network for the crates, and binaryen's wasm-opt.
 */
const FOLDER = import.meta.dirname!, TARGET = "wasm32-unknown-unknown";
const built = `${FOLDER}/target/${TARGET}/release/wgsl_to_spirv.wasm`;

async function run(command: string, args: string[]): Promise<void> {
  const { success } = await new Deno.Command(command, { args, cwd: FOLDER }).spawn().status;
  if (!success) throw new Error(`${command} ${args.join(" ")} failed`);
}

await run("cargo", ["build", "--release", "--locked", "--target", TARGET]);
const features = ["bulk-memory", "nontrapping-float-to-int", "sign-ext", "mutable-globals"];
await run("wasm-opt", [
  "-Os",
  ...[...features, "reference-types", "multivalue"].map((name) => `--enable-${name}`),
  built,
  "-o",
  `${FOLDER}/wgsl_to_spirv.wasm`,
]);
await Deno.remove(`${FOLDER}/target`, { recursive: true });
