/** Loading adapters and their base: several adapters on one base, and adapters that do not fit. */
import assert from "node:assert/strict";
import { RgxError, UsageError } from "../core/errors.ts";
import { refusal } from "../core/testing.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import {
  adapterOn,
  IDS,
  logitsOf,
  logitsOfModel,
  PEFT,
  SIZES,
  writeAdapter,
  writeBase,
} from "./adapter_testing.ts";
import { readSafetensors } from "./formats/safetensors/safetensors.ts";
import { encodeSafetensors } from "./formats/safetensors/safetensors_writer.ts";
import { loadModel } from "./load_model.ts";
import { logprobs } from "./inspect/logprobs.ts";
import { test } from "./testing.ts";

const TIED = { ...SIZES, tieWordEmbeddings: true };

test.inFolder(
  "adapters share one base, generate as they do alone, and go in any order",
  async (folder, device) => {
    await writeBase(TIED, folder);
    const peft = { ...PEFT, modulesToSave: ["lm_head"], targetModules: ["v_proj"], r: 2 };
    const paths = [
      `${folder}/base`,
      await writeAdapter(TIED, folder, device, { name: "one" }),
      await writeAdapter(TIED, folder, device, { name: "other", peft }),
    ];
    const ask = { maxNewTokens: 8, temperature: 0, seed: 1, eosIds: [] };
    const request = [{ promptId: 0, promptIds: IDS, n: 1 }];
    const alone = [], generated = [];
    for (const path of paths) {
      const { model } = await loadModel(path, device);
      alone.push(await logitsOfModel({ model }));
      generated.push(await model.generate(request, ask));
      model.dispose();
    }
    for (const order of [[0, 1, 2], [2, 0, 1], [1, 2, 0]]) {
      const loaded = [];
      let sharing, bytes = 0;
      for (const i of order) {
        const before = device.allocatedBytes;
        const model = await loadModel(
          paths[i]!,
          device,
          sharing === undefined ? {} : { sharing },
        );
        const added = device.allocatedBytes - before;
        if (sharing === undefined) bytes = added;
        else assert.ok(added < bytes / 2, `${paths[i]}: ${added} bytes beside ${bytes}`);
        sharing = model;
        loaded.push({ i, model });
      }
      for (const { i, model } of [...loaded, ...loaded.toReversed()]) {
        assert.deepEqual(await logitsOfModel(model), alone[i]);
        assert.deepEqual(await model.model.generate(request, ask), generated[i]);
        assert.deepEqual(
          await model.model.lastLogits(IDS, { adapter: false }),
          (alone[0]!).at(-1),
          "the adapter off",
        );
      }
      const [first, ...others] = loaded;
      first!.model.model.dispose();
      for (const { i, model } of others) {
        assert.deepEqual(await logitsOfModel(model), alone[i]);
        model.model.dispose();
      }
      assert.equal(device.allocatedBytes, 0);
    }
  },
);

test.inFolder(
  "a base is shared only by models that are on it, on the same device",
  async (folder, device) => {
    const adapter = await adapterOn(SIZES, folder, device);
    await Deno.mkdir(`${folder}/elsewhere`);
    const other = await adapterOn(TIED, `${folder}/elsewhere`, device);
    const wanted = await logitsOf(other, device);
    const first = await loadModel(adapter, device);
    const second = await loadModel(other, device, { sharing: first });
    assert.deepEqual(await logitsOfModel(second), wanted);
    assert.notEqual(first.base, second.base);
    first.model.dispose();
    assert.deepEqual(await logitsOfModel(second), wanted);
    const apart = createReferenceDevice({ float: "f64" });
    try {
      const third = await loadModel(other, apart, { sharing: second });
      assert.deepEqual(await logitsOfModel(third), wanted);
      third.model.dispose();
      assert.equal(apart.allocatedBytes, 0);
    } finally {
      apart.close();
    }
    // The same base under another path.
    await Deno.symlink(other, `${folder}/link`);
    const before = device.allocatedBytes;
    const linked = await loadModel(`${folder}/elsewhere/base`, device, {
      adapter: `${folder}/link`,
      sharing: second,
    });
    assert.ok(device.allocatedBytes < 1.5 * before);
    assert.deepEqual(await logitsOfModel(linked), wanted);
    linked.model.dispose();
    second.model.dispose();
    assert.equal(device.allocatedBytes, 0);
  },
);

test.inFolder(
  "an adapter for another base is refused, and nothing stays loaded",
  async (folder, device) => {
    const adapter = await adapterOn(SIZES, folder, device, {
      ...PEFT,
      modulesToSave: ["lm_head"],
    });
    const refused = async (message: RegExp, kind = RgxError) => {
      await assert.rejects(loadModel(adapter, device), refusal(message, kind));
      assert.equal(device.allocatedBytes, 0);
    };
    const replaceBase = async (config: typeof SIZES) => {
      await Deno.remove(`${folder}/base`, { recursive: true });
      await writeBase(config, folder);
    };
    await replaceBase({ ...SIZES, hiddenSize: 24 });
    await refused(
      /model\.safetensors: .*base: .* \[2, 32\], .* \[2, 24\]; .*; and \d+ more/,
    );
    await replaceBase({ ...SIZES, intermediateSize: 32 });
    await refused(/gate_proj\.lora_B\.weight has shape \[64, 4\], the base needs \[32, 4\]/);
    await replaceBase({ ...SIZES, vocabSize: 97 });
    await refused(/lm_head\.weight has shape \[96, 32\], the base needs \[97, 32\]/);
    await replaceBase({ ...SIZES, numLayers: 1 });
    await refused(/layers\.1\..* has no place in the base/);
    await replaceBase({ ...SIZES, numLayers: 3 });
    await refused(/layers\.2\..*lora_A\.weight is missing, the base needs \[2, 32\]/);
    await replaceBase({ ...SIZES, architecture: "gpt2", numKvHeads: 4 });
    await refused(
      /transformer\.h\.0\.attn\.c_attn\.lora_A\.weight is missing, the base needs \[4, 32\]/,
    );
    const path = `${adapter}/adapter_config.json`;
    const config = JSON.parse(await Deno.readTextFile(path));
    await Deno.writeTextFile(path, JSON.stringify({ ...config, target_modules: ["q_proj"] }));
    await refused(/target_modules: "q_proj" is no linear module of this model/, UsageError);
  },
);

test.inFolder(
  "values beyond float32 are refused with the tensor's name, of the base and of LoRA",
  async (folder, device) => {
    await writeBase(SIZES, folder);
    const adapter = await writeAdapter(SIZES, folder, device);
    const change = async (path: string, which: RegExp, value: number) => {
      const file = await readSafetensors(path);
      const tensors = await Promise.all([...file.tensors.values()].map(async (tensor) => ({
        name: tensor.name,
        shape: [...tensor.shape],
        dtype: "F64" as const,
        data: (await file.float64(tensor.name)).map((x, i) =>
          i === 5 && which.test(tensor.name) ? value : x
        ),
      })));
      await Deno.writeFile(path, encodeSafetensors(tensors));
    };
    const q = "base_model.model.model.layers.1.self_attn.q_proj.lora_";
    await change(`${adapter}/adapter_model.safetensors`, /layers\.1\.self_attn\.q_proj/, 1e12);
    await assert.rejects(
      loadModel(adapter, device),
      new RegExp(
        `"${q}A.weight" has values up to 1\\.00e\\+12 and .*their product overflows float32$`,
      ),
    );
    await change(`${adapter}/adapter_model.safetensors`, /layers\.1\.self_attn\.q_proj/, NaN);
    await assert.rejects(
      loadModel(adapter, device),
      /adapter_model\.safetensors: tensor ".*": element .* is NaN, expected a finite number/,
    );
    await change(`${folder}/base/model.safetensors`, /layers\.0\.mlp\.up_proj/, 1e300);
    await assert.rejects(
      loadModel(`${folder}/base`, device),
      /tensor "model\.layers\.0\.mlp\.up_proj\.weight": element .* is 1e\+300, which overflows/,
    );
    assert.equal(device.allocatedBytes, 0);
  },
);

test.inFolder("the entropies of a sequence are those of a forward pass", async (folder, device) => {
  await writeBase(SIZES, folder);
  const { model } = await loadModel(`${folder}/base`, device);
  const group = { promptIds: [1], branches: [[5, 6, 7]] };
  const { entropy } = await model.forward([group], { temperature: 1, train: false });
  const [none, ...found] = (await logprobs(model, [1, 5, 6, 7], 0)).entropies;
  assert.equal(none, null);
  found.forEach((one, i) => assert.ok(Math.abs(one! - entropy[i]!) < 1e-9, `${one}`));
  model.dispose();
});

test.inFolder(
  "invalid sequences of ids are refused before anything is computed",
  async (folder, device) => {
    await writeBase(SIZES, folder);
    const { model } = await loadModel(`${folder}/base`, device);
    const most = Array<number>(SIZES.maxPositions).fill(1);
    assert.equal((await logprobs(model, most, 0)).logprobs.length, SIZES.maxPositions);
    const cases: [number[], RegExp, RegExp][] = [
      [[], /0 tokens: the model takes from 1 to 64/, /the prompt is empty/],
      [[...most, 1], /65 tokens: the model takes from 1 to 64/, /65 tokens and leaves no room/],
      [[1, 96], /token 96 is no id from 0 to 95/, /token 1: id 96 is not in the vocabulary/],
      [[-1], /token -1 is no id/, /id -1 is not/],
      [[1, 0.5], /token 0\.5 is no id/, /id 0\.5 is not/],
    ];
    const ask = { maxNewTokens: 2, temperature: 0, seed: 1, eosIds: [] };
    for (const [ids, ofLogprobs, ofGenerate] of cases) {
      await assert.rejects(logprobs(model, ids, 1), ofLogprobs);
      const request = { promptId: 0, promptIds: ids, n: 1 };
      await assert.rejects(model.generate([request], ask), refusal(ofGenerate));
    }
    model.dispose();
  },
);

test.inFolder(
  "activations that no weight supports are refused before anything is loaded",
  async (folder, device) => {
    await writeBase(TIED, folder);
    const onLoad = () => assert.fail("it is loaded");
    await assert.rejects(
      loadModel(`${folder}/base`, device, { activations: "int8", onLoad }),
      /^UsageError: activations int8: no weight of .*base has 4 bits .* found float32;/,
    );
    assert.equal(device.allocatedBytes, 0);
  },
);
