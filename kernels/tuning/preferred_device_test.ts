/** Which device of a card `auto` takes, by what the tuner has kept. */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import { UsageError } from "../../core/errors.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { deviceOfRun } from "../../training/run/run_folder.ts";
import { shortRunConfig, trainOn } from "../../training/testing.ts";
import { createReferenceDevice } from "../devices/reference/device.ts";
import { hasVulkan } from "../devices/vulkan/testing.ts";
import { hasWebgpu } from "../devices/webgpu/testing.ts";
import { openPreferred } from "../mod.ts";
import { choicesFolder, keepChoices, type KeptRace, measurableOn } from "./kept_choices.ts";
import { judgement, preferredDevice } from "./preferred_device.ts";

const CARD = { name: "A card", vendor: 4318, device: 7, software: false };
const ON_VULKAN = { ...CARD, name: "A card (Vulkan)", driver: "driver 1.2" };
const WEBGPU = measurableOn("webgpu", CARD), VULKAN = measurableOn("vulkan", ON_VULKAN);
const RACE: KeptRace = {
  webgpu: WEBGPU,
  shapes: 9,
  of: 9,
  webgpu_ms: 12,
  vulkan_ms: 8,
  wrong: null,
};

/** Calls `work` with an empty cache folder of the user, and the folder of vulkan's kernels. */
async function inCache(work: (folder: string) => Promise<void>): Promise<void> {
  const before = Deno.env.get("RGX_CACHE");
  await withFolder(async (cache) => {
    Deno.env.set("RGX_CACHE", cache);
    try {
      const folder = choicesFolder(VULKAN)!;
      await Deno.mkdir(folder, { recursive: true });
      await work(folder);
    } finally {
      if (before === undefined) Deno.env.delete("RGX_CACHE");
      else Deno.env.set("RGX_CACHE", before);
    }
  });
}

const preferred = () => preferredDevice(CARD, () => ON_VULKAN);

Deno.test("auto takes vulkan where it was measured to be faster, and says so", () =>
  inCache(async (folder) => {
    const none = await preferred();
    assert.deepEqual([none.name, /has not compared/.test(none.why)], ["webgpu", true]);
    await keepChoices(folder, VULKAN, { race: RACE });
    assert.deepEqual(await preferred(), {
      name: "vulkan",
      why: "vulkan is 1.50 × as fast as webgpu on this card, in 9 shapes",
    });
    // A run that goes on keeps its device; one of a processor has none of a card.
    const keeping = async (keep: string) => await preferredDevice(CARD, () => ON_VULKAN, keep);
    assert.deepEqual(await keeping("webgpu"), { name: "webgpu", why: "the run began on it" });
    assert.equal((await keeping("vulkan")).why, "the run began on it");
    assert.equal((await keeping("wasm")).name, "vulkan");
    // Measuring kernels later does not lose it.
    const choice = { kernel: "a", ms: 1, rule: "a", rule_ms: 1 };
    await keepChoices(folder, VULKAN, { choices: { one: choice } });
    assert.equal((await preferred()).name, "vulkan");
    await keepChoices(folder, VULKAN, { race: { ...RACE, vulkan_ms: 11.9 } });
    assert.deepEqual(await preferred(), {
      name: "webgpu",
      why: "vulkan is 1.01 × as fast as webgpu on this card, in 9 shapes",
    });
  }));

Deno.test("auto keeps webgpu for another card, driver or version, and a damaged file", () =>
  inCache(async (folder) => {
    await keepChoices(folder, VULKAN, { race: RACE });
    const with_ = (changed: object) => preferredDevice(CARD, () => ({ ...ON_VULKAN, ...changed }));
    assert.match((await with_({ driver: "driver 1.3" })).why, /has not compared/);
    assert.match((await with_({ device: 8 })).why, /first card is another: A card \(Vulkan\)/);
    const missing = await preferredDevice(CARD, () => {
      throw new UsageError("no loader\nmore");
    });
    assert.deepEqual(missing, { name: "webgpu", why: "no loader" });
    const webgpu = { ...WEBGPU, driver: "of another Deno" };
    await keepChoices(folder, VULKAN, { race: { ...RACE, webgpu } });
    assert.match((await preferred()).why, /compared with another version/);
    const path = `${folder}/choices.json`, text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replace('"shapes": 9', '"shapes": "many"'));
    assert.match((await preferred()).why, /has not compared/);
    await Deno.writeTextFile(path, text.slice(0, 50));
    assert.equal((await preferred()).name, "webgpu");
  }));

test.inFolder("the device that auto takes is opened, and run.json says why", async (folder) => {
  const why = { name: "vulkan" as const, why: "vulkan is 1.50 × as fast" };
  const device = hasVulkan ? await openPreferred(why, {}) : createReferenceDevice();
  try {
    if (hasVulkan) assert.equal(device.name, "vulkan");
    else device.chosenBecause = "auto: vulkan is 1.50 × as fast";
    await trainOn(device, shortRunConfig(folder, { sft: { max_steps: 0 } }));
  } finally {
    device.close();
  }
  const run = JSON.parse(await Deno.readTextFile(`${folder}/run.json`));
  assert.deepEqual([run.device, run.device_choice], [
    device.name,
    "auto: vulkan is 1.50 × as fast",
  ]);
  assert.equal(await deviceOfRun(folder), device.name, "for a run that goes on");
});

Deno.test("where vulkan was better and cannot be opened, auto takes webgpu and says why", {
  ignore: needs(hasWebgpu, NEEDED.webgpu),
}, async () => {
  const module = JSON.stringify(new URL("../mod.ts", import.meta.url).href);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--deny-ffi",
      "--no-check",
      "--config",
      new URL("../../deno.json", import.meta.url).pathname,
      "data:text/javascript," + encodeURIComponent(`
        const { openPreferred } = await import(${module});
        const device = await openPreferred({ name: "vulkan", why: "it is faster" }, {});
        console.log(device.name, device.chosenBecause);
        device.close();`),
    ],
  }).output();
  assert.match(
    new TextDecoder().decode(stdout),
    /^webgpu auto: not vulkan \(it is faster\): the device vulkan calls .* not permitted/,
    new TextDecoder().decode(stderr),
  );
});

Deno.test("a device that was wrong, or of which not all was measured, is not faster", () => {
  const wrong = judgement({ ...RACE, wrong: "matmul 1: out: element 3" });
  assert.equal(wrong.isBetter, false);
  assert.match(wrong.why, /a result differs from webgpu's: matmul 1/);
  const some = judgement({ ...RACE, shapes: 3 });
  assert.deepEqual([some.isBetter, /in 3 shapes of 9/.test(some.why)], [false, true]);
});
