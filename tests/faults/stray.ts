/**
 * Stray accesses of the CPU's kernels. Every tensor stands between poisoned words. A write there
 * changes the poison; a read changes the results, which two kinds of poison then give differently.
 * Planted mistakes must be found, on every kind of kernels: else the campaign proves nothing.
 */
import assert from "node:assert/strict";
import { execute } from "../../kernels/conformance/runner_testing.ts";
import { TABLES } from "../../kernels/conformance/tables_testing.ts";
import { builtInKernels, WasmDevice } from "../../kernels/devices/wasm/device.ts";
import type { NativeChoice } from "../../kernels/native/choice.ts";
import { nativeLibraries, VECTORS } from "../../kernels/native/library.ts";
import { type DType, type HostArray, type Tensor, VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import { sameBits } from "../../kernels/testing.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { gradients } from "../../models/testing.ts";
import { goldenPath } from "../golden.ts";
import type { Campaign } from "./campaign.ts";

/** A NaN and the largest integer; a harmless number and index, so a read gives another result. */
const POISONS = [0xffffffff, 0x3f800000] as const;
/** Words before and behind a tensor. */
const GUARD = VIEW_ALIGNMENT;

class PoisonedDevice extends WasmDevice {
  readonly #whole = new Map<Tensor, Tensor>();

  /** @param plant a planted mistake: kernels take the tensor of this label one word too far */
  constructor(
    module: WebAssembly.Module,
    native: NativeChoice,
    readonly poison: number,
    readonly plant: string,
  ) {
    super(module, 2, native);
  }

  override create(dtype: DType, length: number, label: string, use?: "weight"): Tensor {
    const whole = super.create(dtype, length + 2 * GUARD, label, use);
    const words = new Uint32Array(GUARD).fill(this.poison);
    const guard = dtype === "u32" ? words : new Float32Array(words.buffer);
    for (const at of [0, GUARD + length]) super.write(whole, guard, at);
    const inner = whole.view(GUARD, length);
    this.#whole.set(inner, whole);
    return inner;
  }

  override pointer(tensor: Tensor): number {
    return super.pointer(tensor) + (tensor.label === this.plant ? 4 : 0);
  }

  override free(tensor: Tensor): void {
    const whole = this.#whole.get(tensor);
    if (whole === undefined) return super.free(tensor);
    this.#whole.delete(tensor);
    const { buffer, byteOffset, length } = whole.dtype === "u32"
      ? this.u32(whole)
      : this.f32(whole);
    const words = new Uint32Array(buffer, byteOffset, length);
    for (const guard of [words.subarray(0, GUARD), words.subarray(-GUARD)]) {
      assert.ok(guard.every((word) => word === this.poison), `stray write at "${tensor.label}"`);
    }
    super.free(whole);
  }

  /** Frees what is left, with a look at its poison. */
  freeAll(): void {
    for (const tensor of [...this.#whole.keys()]) this.free(tensor);
  }
}

/** The bits of what some work gives on a device, by name. */
type Work = (device: PoisonedDevice) => Promise<Map<string, HostArray>>;

/** Does the work with each poison. @throws Error for a stray access, in words */
async function twice(work: Work, native: NativeChoice, plant = ""): Promise<void> {
  const [one, other] = await Promise.all(POISONS.map(async (poison) => {
    using device = new PoisonedDevice(await builtInKernels(), native, poison, plant);
    const found = await work(device);
    device.freeAll();
    return found;
  }));
  for (const [name, values] of one!) {
    assert.ok(sameBits(values, other!.get(name)!), `stray read: "${name}" differs`);
  }
}

/** A model's log-probabilities, gradients and text. */
async function modelWork(device: PoisonedDevice, family: string): Promise<Map<string, HostArray>> {
  const { config, files } = await readModelFolder(goldenPath(family));
  const model = await CausalLM.create(device, config, files, { trainable: "full" });
  const ids = Array.from({ length: 19 }, (_, i) => (7 * i + 3) % Math.min(config.vocabSize, 90));
  const groups = [
    { promptIds: ids.slice(0, 5), branches: [ids.slice(5, 12), ids.slice(3)] },
    { promptIds: ids.slice(2, 3), branches: [ids.slice(9)] },
  ];
  const { logp } = await model.forward(groups, { temperature: 1, train: true });
  model.backward(new Float64Array(logp.length).fill(-1));
  const prompts = [4, 9].map((n, promptId) => ({ promptId, promptIds: ids.slice(0, n), n: 3 }));
  const options = { maxNewTokens: 12, temperature: 1, seed: 3, eosIds: [] };
  const completions = await model.generate(prompts, options);
  const found = new Map<string, HostArray>([["logp", Float32Array.from(logp)]]);
  found.set("ids", Uint32Array.from(completions.flat().flatMap(({ ids }) => ids)));
  for (const [name, values] of await gradients(model)) found.set(name, Float32Array.from(values));
  return found;
}

const FAMILIES = [
  ...["llama3", "qwen3", "gpt2", "mistral"].map((name) => `tiny-models/${name}`),
  ...["gemma2", "lfm2", "mixtral", "qwen3_5_text", "phi3"].map((name) => `families/${name}`),
];

/** Part of the campaign. */
export async function stray(campaign: Campaign): Promise<void> {
  const some = <T>(list: readonly T[], n: number) =>
    list.filter((_, i) => !campaign.isShort || i % n === 0);
  const native = nativeLibraries().codes.map((code) => {
    const text = VECTORS[code.target];
    return { code, text, bf16Text: text };
  });
  const kinds = [{ code: null, text: "WebAssembly", bf16Text: "" }, ...native];
  const onAll = async (what: string, name: string, work: Work) => {
    for (const kernels of kinds) {
      await campaign.try(`${what}, ${kernels.text}`, name, () => twice(work, kernels));
    }
  };

  const args = { src: new Float32Array(7).fill(1), out: new Float32Array(7), n: 7 };
  const copy: Work = (device) => execute(device, { op: "copy", args });
  for (const kernels of kinds) {
    for (const [plant, kind] of [["src", "read"], ["out", "write"]] as const) {
      await campaign.try(`planted stray ${kind}s, which must be found`, kernels.text, () => {
        return assert.rejects(twice(copy, kernels, plant), new RegExp(`stray ${kind}`));
      });
    }
  }
  for (const [name, makeCases] of some(TABLES, 5)) {
    for (const one of some(await makeCases(), 64)) {
      const what = "operations between poisoned words";
      await onAll(what, `${name}, ${one.name}`, (device) => execute(device, one));
    }
  }
  for (const family of some(FAMILIES, FAMILIES.length)) {
    await onAll("models between poisoned words", family, (device) => modelWork(device, family));
  }
}
