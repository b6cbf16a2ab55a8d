/**
 * Compute pipelines, cached by kernel and binding pattern, and their bind groups, cached by the
 * buffers in them. Deno creates a pipeline synchronously, but reports errors in a kernel's text
 * later, through an error scope. `onError` then gets the name of the kernel and the line of WGSL.
 */
import type {
  Gpu,
  GpuBindEntry,
  GpuBindGroup,
  GpuBuffer,
  GpuLayoutEntry,
  GpuObject,
} from "./gpu.ts";
import type { WebgpuTensor } from "./tensor.ts";
import { popError } from "./quirks.ts";
import {
  type BindingPattern,
  type Kernel,
  kernelText,
  patternKey,
} from "../../ops/common/wgsl/kernel.ts";

interface Pipeline {
  readonly gpu: GpuObject;
  readonly layout: GpuObject;
  readonly pattern: BindingPattern;
}

/** A pipeline with its bind group, for a dispatch. */
export interface Bound {
  readonly pipeline: GpuObject;
  readonly group: GpuBindGroup;
}

/** A kernel's pipelines by pattern, and with bind groups by its tensors' buffers and ranges. */
interface KnownKernel {
  readonly bound: Map<string, Bound>;
  readonly pipelines: Map<string, Pipeline>;
}

/** Bytes of a kernel's parameters in the uniform buffer: WebGPU's maximum alignment of offsets. */
export const PARAMS_SLOT = 256;
/** Maximum number of cached bind groups of all pipelines. They are cheap to create again. */
const MAX_GROUPS = 16_384;

export class Pipelines {
  readonly #byKernel = new Map<Kernel, KnownKernel>();
  readonly #byText = new Map<string, Pipeline>();
  readonly #layouts = new Map<string, { group: GpuObject; whole: GpuObject }>();
  #groupCount = 0;

  constructor(
    private readonly device: Gpu,
    private readonly params: GpuBuffer,
    private readonly onError: (message: string) => void,
  ) {}

  /** Number of pipelines that were created. */
  get size(): number {
    return this.#byText.size;
  }

  /** The pipeline and bind group of a kernel for these tensors. */
  bind(kernel: Kernel, tensors: readonly WebgpuTensor[]): Bound {
    let key = "";
    for (const { block, offset, length } of tensors) {
      key += `${block.buffer.id},${offset},${length};`;
    }
    let known = this.#byKernel.get(kernel);
    if (known === undefined) {
      this.#byKernel.set(kernel, known = { bound: new Map(), pipelines: new Map() });
    }
    let found = known.bound.get(key);
    if (found === undefined) {
      if (this.#groupCount >= MAX_GROUPS) this.forgetGroups();
      const pipeline = this.#pipeline(kernel, known, tensors);
      found = { pipeline: pipeline.gpu, group: this.#group(pipeline, tensors) };
      known.bound.set(key, found);
      this.#groupCount++;
    }
    return found;
  }

  #pipeline(
    kernel: Kernel,
    { pipelines }: KnownKernel,
    tensors: readonly WebgpuTensor[],
  ): Pipeline {
    const pattern = patternOf(kernel, tensors), key = patternKey(pattern);
    let found = pipelines.get(key);
    if (found === undefined) pipelines.set(key, found = this.#make(kernel, pattern));
    return found;
  }

  #group({ pattern: { standsFor }, layout }: Pipeline, tensors: readonly WebgpuTensor[]) {
    const entries: GpuBindEntry[] = [
      { binding: 0, resource: { buffer: this.params, offset: 0, size: PARAMS_SLOT } },
    ];
    tensors.forEach((tensor, i) => {
      if (standsFor[i] !== i) return;
      // If several names stand for the same tensor, the longest view is bound.
      let length = tensor.length;
      standsFor.forEach((first, j) => {
        if (first === i) length = Math.max(length, tensors[j]!.length);
      });
      // A binding must not be empty, and one of vec4 needs at least one element.
      const available = tensor.block.buffer.bytes - 4 * tensor.offset;
      const size = Math.min(available, Math.ceil(Math.max(4 * length, 4) / 16) * 16);
      const resource = { buffer: tensor.block.buffer.gpu, offset: 4 * tensor.offset, size };
      entries.push({ binding: i + 1, resource });
    });
    return this.device.createBindGroup({ layout, entries });
  }

  /** Drops all bind groups, since they keep the memory of destroyed buffers. */
  forgetGroups(): void {
    for (const { bound } of this.#byKernel.values()) {
      for (const { group } of bound.values()) group.destroy?.();
      bound.clear();
    }
    this.#groupCount = 0;
  }

  #make(kernel: Kernel, pattern: BindingPattern): Pipeline {
    const code = kernelText(kernel, pattern);
    const known = this.#byText.get(code);
    if (known !== undefined) return known;
    const { group, whole } = this.#layout(pattern);
    this.device.pushErrorScope("validation");
    const module = this.device.createShaderModule({ code, label: kernel.name });
    const gpu = this.device.createComputePipeline({
      layout: whole,
      compute: { module, entryPoint: "main" },
      label: kernel.name,
    });
    popError(this.device).then((error) => {
      if (error !== null) {
        this.onError(`the kernel ${kernel.name} does not compile:\n${error.message.trim()}`);
      }
    }, () => {});
    const pipeline = { gpu, layout: group, pattern };
    this.#byText.set(code, pipeline);
    return pipeline;
  }

  #layout({ standsFor, writable }: BindingPattern) {
    const key = patternKey({ standsFor, writable });
    let found = this.#layouts.get(key);
    if (found === undefined) {
      const entries: GpuLayoutEntry[] = [{
        binding: 0,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: "uniform", hasDynamicOffset: true, minBindingSize: PARAMS_SLOT },
      }];
      standsFor.forEach((first, i) => {
        if (first !== i) return;
        const type = writable[i] ? "storage" as const : "read-only-storage" as const;
        entries.push({ binding: i + 1, visibility: GPUShaderStage.COMPUTE, buffer: { type } });
      });
      const group = this.device.createBindGroupLayout({ entries });
      const whole = this.device.createPipelineLayout({ bindGroupLayouts: [group] });
      this.#layouts.set(key, found = { group, whole });
    }
    return found;
  }
}

/** Which tensors are the same, and which must be bound as writable; see {@link BindingPattern}. */
function patternOf(kernel: Kernel, tensors: readonly WebgpuTensor[]): BindingPattern {
  const writes = kernel.bufferNames.map((name) => kernel.written.has(name));
  const standsFor: number[] = [], writable: boolean[] = [];
  tensors.forEach((tensor, i) => {
    const shares = (other: WebgpuTensor) => other.block.buffer === tensor.block.buffer;
    const written = tensors.some((other, j) => writes[j] && shares(other));
    writable.push(written);
    const first = tensors.findIndex((other) => shares(other) && other.offset === tensor.offset);
    standsFor.push(written ? first : i);
  });
  return { standsFor, writable };
}
