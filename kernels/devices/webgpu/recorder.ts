/**
 * Records dispatches in one command encoder and submits hundreds of them together. Their parameters
 * are in one uniform buffer with dynamic offsets. Recordings have numbers, so that the recorder
 * knows whether a waiting command uses a buffer that the host writes.
 */
import type { Dispatch } from "../../ops/common/webgpu_op.ts";
import type { Gpu, GpuBuffer, GpuEncoder, GpuPass } from "./gpu.ts";
import { PARAMS_SLOT, Pipelines } from "./pipelines.ts";
import { popError, STAGED_BYTES } from "./quirks.ts";
import type { PooledBuffer, WebgpuTensor } from "./tensor.ts";
import type { Tracer } from "./trace.ts";

/**
 * Maximum number of dispatches per submit; small enough that the GPU starts while the host records.
 */
const SLOTS = 512;
/** Maximum bytes per submit that are written to buffers which waiting commands use. */
const UPLOAD_BYTES = 1 << 20;

export class Recorder {
  readonly pipelines: Pipelines;
  /** Number of dispatches and submits since the device was created. */
  dispatches = 0;
  submits = 0;
  readonly #params: GpuBuffer;
  // `writeBuffer` of Deno 2.6 does not accept an ArrayBuffer.
  readonly #paramBytes = new Uint8Array(SLOTS * PARAMS_SLOT);
  readonly #paramView = new DataView(this.#paramBytes.buffer);
  readonly #upload: GpuBuffer;
  readonly #uploadBytes = new Uint8Array(UPLOAD_BYTES);
  #encoder: GpuEncoder | null = null;
  #pass: GpuPass | null = null;
  #slot = 0;
  #uploaded = 0;
  #staged = 0;
  #recording = 0;
  #names: string[] = [];

  constructor(
    private readonly device: Gpu,
    private readonly tracer: Tracer | null,
    private readonly onError: (message: string) => void,
  ) {
    this.#params = device.createBuffer({
      size: SLOTS * PARAMS_SLOT,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
      label: "parameters",
    });
    this.#upload = device.createBuffer({
      size: UPLOAD_BYTES,
      usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
      label: "upload",
    });
    this.pipelines = new Pipelines(device, this.#params, onError);
  }

  /** Bytes of the recorder's buffers. */
  readonly bufferBytes = SLOTS * PARAMS_SLOT + UPLOAD_BYTES;

  dispatch(
    { kernel, params, flops = 0 }: Dispatch,
    tensors: WebgpuTensor[],
    x: number,
    y: number,
  ): void {
    const { pipeline, group } = this.pipelines.bind(kernel, tensors);
    if (this.#slot === SLOTS || this.tracer?.full) this.submit();
    let at = PARAMS_SLOT * this.#slot++;
    const offset = at;
    for (const [name, type] of kernel.paramTypes) {
      if (type === "f32") this.#paramView.setFloat32(at, params![name]!, true);
      else this.#paramView.setUint32(at, params![name]!, true);
      at += 4;
    }
    const pass = this.tracer === null
      ? this.#openPass()
      : this.#tracedPass(kernel.name, tensors, flops);
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group, [offset]);
    pass.dispatchWorkgroups(x, y);
    if (this.tracer !== null) this.#endPass();
    for (const { block } of tensors) block.buffer.usedIn = this.#recording;
    this.#names.push(kernel.name);
    this.dispatches++;
  }

  /** Fills a buffer with zeros from byte `begin` on. */
  clear(buffer: PooledBuffer, begin: number): void {
    if (begin === buffer.bytes) return;
    this.#endPass();
    this.#open().clearBuffer(buffer.gpu, begin, buffer.bytes - begin);
    buffer.usedIn = this.#recording;
  }

  /** Writes bytes to a buffer, after all recorded commands and before all later ones. */
  write(buffer: PooledBuffer, offset: number, data: Uint8Array<ArrayBuffer>): void {
    if (buffer.usedIn !== this.#recording) {
      for (let done = 0; done < data.byteLength; done += STAGED_BYTES) {
        const part = data.subarray(done, done + STAGED_BYTES);
        this.device.queue.writeBuffer(buffer.gpu, offset + done, part);
        this.#staged += part.byteLength;
        if (this.#staged >= STAGED_BYTES) this.submit(true);
      }
      return;
    }
    const isFull = this.#uploaded + data.byteLength > UPLOAD_BYTES;
    if (isFull || data.byteLength > UPLOAD_BYTES / 4) {
      this.submit();
      this.write(buffer, offset, data);
      return;
    }
    this.#uploadBytes.set(data, this.#uploaded);
    this.#endPass();
    this.#open().copyBufferToBuffer(
      this.#upload,
      this.#uploaded,
      buffer.gpu,
      offset,
      data.byteLength,
    );
    this.#uploaded += data.byteLength;
  }

  /**
   * Submits all recorded commands.
   * @param always also submit when nothing is recorded, which frees the memory of staged writes
   */
  submit(always = false): void {
    this.#endPass();
    const encoder = this.#encoder;
    if (encoder === null && !always && this.#staged === 0) return;
    const { queue } = this.device;
    if (this.#slot > 0) {
      queue.writeBuffer(this.#params, 0, this.#paramBytes, 0, this.#slot * PARAMS_SLOT);
    }
    if (this.#uploaded > 0) {
      queue.writeBuffer(this.#upload, 0, this.#uploadBytes, 0, this.#uploaded);
    }
    const names = this.#names;
    this.device.pushErrorScope("validation");
    try {
      if (encoder !== null) this.tracer?.resolve(encoder);
      queue.submit(encoder === null ? [] : [encoder.finish()]);
    } catch (error) {
      // The commands belong to a lost device.
      this.onError(`${(error as Error).message}\nrecorded: ${summary(names)}`);
    }
    popError(this.device).then((error) => {
      if (error !== null) this.onError(`${error.message.trim()}\nrecorded: ${summary(names)}`);
    }, () => {});
    this.tracer?.collect();
    this.#encoder = null;
    this.#slot = 0;
    this.#uploaded = 0;
    this.#staged = 0;
    this.#recording++;
    this.#names = [];
    this.submits++;
  }

  close(): void {
    this.#params.destroy();
    this.#upload.destroy();
  }

  #open(): GpuEncoder {
    return this.#encoder ??= this.device.createCommandEncoder();
  }

  #openPass(): GpuPass {
    return this.#pass ??= this.#open().beginComputePass();
  }

  #tracedPass(
    name: string,
    tensors: readonly WebgpuTensor[],
    flops: number,
  ): GpuPass {
    const bytes = tensors.reduce((sum, { length }) => sum + 4 * length, 0);
    this.#pass = this.#open().beginComputePass(this.tracer!.pass({ name, flops, bytes }));
    return this.#pass;
  }

  #endPass(): void {
    this.#pass?.end();
    this.#pass = null;
  }
}

/** The names of kernels with their counts, the latest first. */
function summary(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names.toReversed()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].slice(0, 12).map(([name, n]) => n > 1 ? `${name} ×${n}` : name);
  return `${parts.join(", ")}${counts.size > 12 ? ", …" : ""} (last first)`;
}
