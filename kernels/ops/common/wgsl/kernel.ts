/**
 * A WGSL kernel as the operations write it, and its complete text. An operation gives the code with
 * the entry point `main`. The declarations of its buffers (group 0, bindings 1 …) and of its
 * parameters (`p.name`, binding 0) are made here, because they depend on the call. WebGPU forbids
 * that a buffer is bound both for reading and for writing. Tensors that share a buffer are
 * therefore declared `read_write`, and a tensor that is given twice becomes one variable under both
 * names.
 */

/** Type of a parameter, which is `p.name` in the code and takes 4 bytes. */
export type ParamType = "u32" | "f32" | "i32";

export interface KernelSpec {
  /**
   * The operation's name, with the variant after a dot ("matmul.skinny"), for messages and traces.
   */
  name: string;
  /**
   * Buffers by their name in the code, in binding order, with access and element type: "read f32",
   * "write vec4<f32>" ("write" allows reading). The code must not use the name for anything else
   * but members (`v.x`).
   */
  buffers: Readonly<Record<string, string>>;
  params: Readonly<Record<string, ParamType>>;
  /** WGSL without the declarations of buffers and parameters. The entry point is called `main`. */
  code: string;
  /** `enable` directives ("f16"). */
  enable?: readonly string[];
}

export interface Kernel extends KernelSpec {
  readonly bufferNames: readonly string[];
  readonly paramNames: readonly string[];
}

/** Maximum number of parameters: they fill one uniform slot of 256 bytes. */
export const MAX_PARAMS = 64;

export function kernel(spec: KernelSpec): Kernel {
  const paramNames = Object.keys(spec.params);
  if (paramNames.length > MAX_PARAMS) throw new Error(`${spec.name} has too many parameters`);
  return { ...spec, bufferNames: Object.keys(spec.buffers), paramNames };
}

/** How one call binds a kernel's buffers: which binding each uses, and which may be written. */
export interface BindingPattern {
  /** Index of the buffer whose variable is used: its own, or that of an earlier, equal tensor. */
  standsFor: readonly number[];
  writable: readonly boolean[];
}

export function patternKey({ standsFor, writable }: BindingPattern): string {
  return standsFor.map((index, i) => `${index}${writable[i] ? "w" : "r"}`).join("");
}

/** The complete WGSL text of a kernel for one pattern. */
export function kernelText(spec: Kernel, { standsFor, writable }: BindingPattern): string {
  const lines = (spec.enable ?? []).map((name) => `enable ${name};`);
  if (spec.paramNames.length > 0) {
    const fields = spec.paramNames.map((name) => `${name}: ${spec.params[name]}`);
    lines.push(`struct Params { ${fields.join(", ")} }`);
    lines.push("@group(0) @binding(0) var<uniform> p: Params;");
  }
  let code = spec.code;
  spec.bufferNames.forEach((name, i) => {
    const type = spec.buffers[name]!.replace(/^(read|write) /, "");
    const first = standsFor[i]!;
    if (first !== i) {
      // Not after a dot: in `group.x`, x is no buffer.
      code = code.replace(new RegExp(`(?<!\\.)\\b${name}\\b`, "g"), spec.bufferNames[first]!);
      return;
    }
    const access = writable[i] ? "read_write" : "read";
    lines.push(`@group(0) @binding(${i + 1}) var<storage, ${access}> ${name}: array<${type}>;`);
  });
  return `${lines.join("\n")}\n${code}`;
}

/** Caches the kernel of each set of options. `make` is called once for each distinct JSON text. */
export function variants<O>(make: (options: O) => KernelSpec): (options: O) => Kernel {
  const made = new Map<string, Kernel>();
  return (options) => {
    const key = JSON.stringify(options);
    let found = made.get(key);
    if (found === undefined) made.set(key, found = kernel(make(options)));
    return found;
  };
}
