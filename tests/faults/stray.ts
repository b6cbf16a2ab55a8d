/**
 * Stray accesses of the CPU's kernels. Every tensor stands between poisoned words. A write there
 * changes the poison; a read changes the results, which two kinds of poison then give differently.
 * Planted mistakes must be found, on every kind of kernels: else the campaign proves nothing.
 */
import assert from "node:assert/strict";
import { TABLES } from "../../kernels/conformance/tables_testing.ts";
import { type Case, execute } from "../../kernels/conformance/runner_testing.ts";
import { builtInKernels, WasmDevice } from "../../kernels/devices/wasm/device.ts";
import type { NativeChoice } from "../../kernels/native/choice.ts";
import { nativeLibraries, VECTORS } from "../../kernels/native/library.ts";
import { type DType, type HostArray, type Tensor, VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { gradients } from "../../models/testing.ts";
import { goldenPath } from "../golden.ts";
import type { Campaign } from "./campaign.ts";

/** A NaN and the largest integer; a harmless number and index, so a read gives another result. */
const POISONS = [0xffffffff, 0x3f800000] as const;
/** Words before and behind a tensor. */
const GUARD = VIEW_ALIGNMENT;

/** A mistake that is planted: the last word of a tensor counts as one behind its end. */
type Plant = "read" | "write" | null;

class PoisonedDevice extends WasmDevice {
  readonly #whole = new Map<Tensor, { whole: Tensor; length: number }>();

  constructor(
    module: WebAssembly.Module,
    threads: number,
    native: NativeChoice,
    readonly poison: number,
    readonly plant: Plant = null,
  ) {
    super(module, threads, native);
  }

  override create(dtype: DType, length: number, label: string, use?: "weight"): Tensor {
    const whole = super.create(dtype, length + 2 * GUARD, label, use);
    const inner = whole.view(GUARD, length), declared = length - (label === this.plant ? 1 : 0);
    this.#whole.set(inner, { whole, length: declared });
    this.#fill(whole, 0, GUARD);
    this.#fill(whole, GUARD + declared, whole.length);
    return inner;
  }

  override write(tensor: Tensor, data: HostArray, offset = 0): void {
    super.write(tensor, data, offset);
    const found = this.#whole.get(tensor);
    // The data of a planted mistake reach behind its end.
    if (found !== undefined) this.#fill(tensor, found.length, tensor.length);
  }

  #fill(tensor: Tensor, from: number, to: number): void {
    const words = new Uint32Array(to - from).fill(this.poison);
    super.write(tensor, tensor.dtype === "u32" ? words : new Float32Array(words.buffer), from);
  }

  override free(tensor: Tensor): void {
    const found = this.#whole.get(tensor);
    if (found === undefined) return super.free(tensor);
    const { whole, length } = found, isFloat = whole.dtype !== "u32";
    const all = isFloat ? this.f32(whole) : this.u32(whole);
    const words = new Uint32Array(all.buffer, all.byteOffset, all.length);
    this.#whole.delete(tensor);
    const changed = words.findIndex((word, i) =>
      (i < GUARD || i >= GUARD + length) && word !== this.poison
    );
    if (changed >= 0) {
      const what = `${this.tiles}: "${tensor.label}", ${length} words`;
      throw new Error(`stray write: ${what}, word ${changed - GUARD} changed`);
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
async function twice(work: Work, native: NativeChoice, threads: number, plant: Plant = null) {
  const module = await builtInKernels(), results = [];
  for (const poison of POISONS) {
    const device = new PoisonedDevice(module, threads, native, poison, plant);
    try {
      results.push(await work(device));
      device.freeAll();
    } finally {
      device.close();
    }
  }
  const [one, other] = results as [Map<string, HostArray>, Map<string, HostArray>];
  for (const [name, values] of one) {
    const a = bitsOf(values), b = bitsOf(other.get(name)!);
    const at = a.findIndex((word, i) => word !== b[i]);
    if (at >= 0) throw new Error(`stray read: ${native.text}: "${name}" differs at ${at}`);
  }
}

const bitsOf = ({ buffer, byteOffset, byteLength }: HostArray) =>
  new Uint32Array(buffer, byteOffset, byteLength / 4);

/** A model's loss, gradients and text. */
function modelWork(family: string): Work {
  return async (device) => {
    const folder = goldenPath(family), { config, weights } = await readModelFolder(folder);
    const model = await CausalLM.create(device, config, weights, { trainable: "full" });
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
  };
}

/** The kinds of kernels that this processor has. */
function kernels(): NativeChoice[] {
  const native = nativeLibraries().codes.map((code) => {
    const text = VECTORS[code.target];
    return { code, text, bf16Text: text };
  });
  return [{ code: null, text: "WebAssembly", bf16Text: "" }, ...native];
}

/** The families with files that the golden folder has. */
const FAMILIES = [
  ...["llama3", "qwen3", "gpt2", "mistral"].map((name) => `tiny-models/${name}`),
  ...["gemma2", "lfm2", "mixtral", "qwen3_5_text", "phi3"].map((name) => `families/${name}`),
];

/** Part of the campaign. */
export async function stray(campaign: Campaign): Promise<void> {
  const { isShort } = campaign, all = kernels();
  for (const native of all) {
    for (const plant of ["read", "write"] as const) {
      await campaign.try(`planted stray ${plant}s, which must be found`, native.text, () => {
        const work: Work = async (device) => {
          const src = device.create("float", 7, "read"), out = device.create("float", 7, "write");
          device.write(src, new Float32Array(7).fill(1));
          device.run("copy", { src, out, n: 7 });
          return new Map([["out", await device.read(out)]]);
        };
        return assert.rejects(twice(work, native, 1, plant), new RegExp(`^Error: stray ${plant}`));
      });
    }
  }
  const some = <T>(list: readonly T[], n: number) => list.filter((_, i) => !isShort || i % n === 0);
  for (const [name, makeCases] of some(TABLES, 5)) {
    const cases: Case[] = some(await makeCases(), 64);
    for (const native of all) {
      for (const one of cases) {
        const what = `operations between poisoned words, ${native.text}`;
        await campaign.try(
          what,
          `${name}, ${one.name}`,
          () => twice((device) => execute(device, one), native, 1),
        );
      }
    }
  }
  for (const family of isShort ? FAMILIES.slice(0, 1) : FAMILIES) {
    for (const native of all) {
      await campaign.try(
        `models between poisoned words, ${native.text}`,
        family,
        () => twice(modelWork(family), native, isShort ? 1 : 2),
      );
    }
  }
}
