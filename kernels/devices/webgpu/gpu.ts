/**
 * What the GPU device needs of the layer below it: a subset of WebGPU's `GPUDevice`, with the same
 * names and meanings. There are two: Deno's WebGPU, whose objects have this form anyway, and
 * Vulkan through FFI (devices/vulkan/). Recorder, pipelines, pool, read-back and traces use
 * nothing else, so they and all kernels are the same on both.
 */

/** A pipeline, a layout, a shader module or finished commands. */
export interface GpuObject {
  label: string;
}

/** A buffer. */
export interface GpuBuffer {
  label: string;
  readonly size: number;
  readonly usage: number;
  readonly mapState: "unmapped" | "pending" | "mapped";
  /** Resolves when all submitted work is done and the buffer can be read. */
  mapAsync(mode: number): Promise<void>;
  /** A copy of the bytes. */
  getMappedRange(offset?: number, size?: number): ArrayBuffer;
  /** Copies the first bytes to an array. Absent: `getMappedRange` gives them. */
  copyMapped?(to: Uint8Array): void;
  unmap(): void;
  /** Frees the memory, after the submitted work that uses it. */
  destroy(): void;
}

/** Buffers at the bindings of a kernel. */
export interface GpuBindGroup extends GpuObject {
  /** Absent where the garbage collector frees it. Recorded commands may still use the group. */
  destroy?(): void;
}

/** A place for time stamps. */
export interface GpuQuerySet extends GpuObject {
  readonly type: "timestamp" | "occlusion";
  readonly count: number;
  destroy(): void;
}

export interface GpuPass {
  setPipeline(pipeline: GpuObject): void;
  setBindGroup(index: number, group: GpuBindGroup, dynamicOffsets: number[]): void;
  dispatchWorkgroups(x: number, y: number): void;
  end(): void;
}

export interface GpuPassDescriptor {
  timestampWrites?: {
    querySet: GpuQuerySet;
    beginningOfPassWriteIndex: number;
    endOfPassWriteIndex: number;
  };
}

export interface GpuEncoder {
  beginComputePass(descriptor?: GpuPassDescriptor): GpuPass;
  clearBuffer(buffer: GpuBuffer, offset: number, size: number): void;
  copyBufferToBuffer(
    source: GpuBuffer,
    sourceOffset: number,
    target: GpuBuffer,
    targetOffset: number,
    size: number,
  ): void;
  resolveQuerySet(
    set: GpuQuerySet,
    first: number,
    count: number,
    target: GpuBuffer,
    targetOffset: number,
  ): void;
  /** The commands, for `submit`. */
  finish(): GpuObject;
}

/** Types of a kernel's bindings, by their numbers. */
export interface GpuLayoutEntry {
  binding: number;
  visibility: number;
  buffer: {
    type: "uniform" | "storage" | "read-only-storage";
    hasDynamicOffset?: boolean;
    minBindingSize?: number;
  };
}

export interface GpuBindEntry {
  binding: number;
  resource: { buffer: GpuBuffer; offset: number; size: number };
}

export interface Gpu {
  readonly limits: {
    readonly maxBufferSize: number;
    /**
     * The largest allocation in bytes that the driver promises, where that is less than
     * `maxBufferSize`.
     */
    readonly maxAllocationSize?: number;
    readonly maxStorageBufferBindingSize: number;
    readonly maxComputeWorkgroupsPerDimension: number;
    readonly maxComputeWorkgroupStorageSize: number;
    readonly maxComputeInvocationsPerWorkgroup: number;
  };
  /** New buffers hold what was in their memory before. Absent: they are full of zeros. */
  readonly leavesMemory?: boolean;
  readonly features: { has(name: string): boolean };
  /** Nanoseconds of a tick of the time stamps; absent where they are not known. */
  readonly timestampPeriod?: number;
  /** Units for products of matrices; absent where kernels cannot reach them. */
  readonly matrixUnits?: { edge: number; subgroup: number } | null;
  readonly queue: {
    submit(commands: GpuObject[]): void;
    /** Takes effect before the commands of the next `submit`. Offsets and sizes are in bytes. */
    writeBuffer(
      buffer: GpuBuffer,
      offset: number,
      data: Uint8Array<ArrayBuffer>,
      dataOffset?: number,
      size?: number,
    ): void;
  };
  /** Resolves when the device is lost, also by `destroy`. */
  readonly lost: Promise<{ readonly message: string }>;
  /** Errors that no error scope catches. */
  addEventListener(type: "uncapturederror", listener: (event: Event) => void): void;
  pushErrorScope(filter: "validation" | "out-of-memory"): void;
  popErrorScope(): Promise<{ readonly message: string } | null>;
  /** `usage` is a sum of WebGPU's `GPUBufferUsage`. */
  createBuffer(options: { size: number; usage: number; label?: string }): GpuBuffer;
  createBindGroupLayout(options: { entries: GpuLayoutEntry[] }): GpuObject;
  createPipelineLayout(options: { bindGroupLayouts: GpuObject[] }): GpuObject;
  createBindGroup(options: { layout: GpuObject; entries: GpuBindEntry[] }): GpuBindGroup;
  /** `code` is WGSL. */
  createShaderModule(options: { code: string; label?: string }): GPUShaderModule;
  createComputePipeline(options: {
    layout: GpuObject;
    compute: { module: GPUShaderModule; entryPoint: string };
    label?: string;
  }): GpuObject;
  createQuerySet(options: { type: "timestamp"; count: number }): GpuQuerySet;
  createCommandEncoder(): GpuEncoder;
  destroy(): void;
}
