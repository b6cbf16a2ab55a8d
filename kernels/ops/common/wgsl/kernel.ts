/**
 * A WGSL kernel as the operations write it, and its complete text. An operation gives the code with
 * the entry point `main`. The declarations of its buffers (group 0, bindings 1 …) and of its
 * parameters (`p.name`, binding 0) are made here, because they depend on the call. WebGPU forbids
 * that a buffer is bound both for reading and for writing. Tensors that share a buffer are
 * therefore declared `read_write`, and a tensor that is given twice becomes one variable under both
 * names.
 */

export interface KernelSpec {
  /**
   * The operation's name, with the variant after a dot ("matmul.skinny"), for messages and traces.
   */
  name: string;
  /**
   * Buffers by their names in the code, in groups of an element type and names:
   * "vec4<f32> a b, u32 c". The code must not use a name for anything else but members (`v.x`).
   */
  reads?: string;
  /** Those that are written, and may be read. */
  writes: string;
  /** The parameters, in the same form. */
  params?: string;
  /** WGSL without the declarations of buffers and parameters. The entry point is called `main`. */
  code: string;
  /** `enable` directives ("f16"). */
  enable?: readonly string[];
}

export interface Kernel extends KernelSpec {
  /** The element types of the buffers by their names, those first that are only read. */
  readonly buffers: ReadonlyMap<string, string>;
  readonly bufferNames: readonly string[];
  readonly written: ReadonlySet<string>;
  readonly paramTypes: ReadonlyMap<string, string>;
}

/** Names and their types, from groups of a type and names. */
function declared(text = ""): [name: string, type: string][] {
  return text.split(",").flatMap((group) => {
    const [type, ...names] = group.split(" ").filter(Boolean);
    return names.map((name): [string, string] => [name, type!]);
  });
}

/** Maximum number of parameters: they fill one uniform slot of 256 bytes. */
export const MAX_PARAMS = 64;

export function kernel(spec: KernelSpec): Kernel {
  const paramTypes = new Map(declared(spec.params)), writes = declared(spec.writes);
  if (paramTypes.size > MAX_PARAMS) throw new Error(`${spec.name} has too many parameters`);
  const buffers = new Map([...declared(spec.reads), ...writes]), bufferNames = [...buffers.keys()];
  const written = new Set(writes.map(([name]) => name));
  return { ...spec, buffers, bufferNames, written, paramTypes };
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
  if (spec.paramTypes.size > 0) {
    const fields = [...spec.paramTypes].map(([name, type]) => `${name}: ${type}`);
    lines.push(`struct Params { ${fields.join(", ")} }`);
    lines.push("@group(0) @binding(0) var<uniform> p: Params;");
  }
  let code = spec.code;
  spec.bufferNames.forEach((name, i) => {
    const type = spec.buffers.get(name)!;
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
