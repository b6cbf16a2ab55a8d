/** The kernels of a run: from the cache at its beginning, and from the checkpoint when resumed. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import type { Device } from "../../kernels/device.ts";
import type { ChosenKernels } from "../checkpoint/run_state.ts";
import { ALONE } from "../../cluster/ranks/ranks.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { webgpuTest } from "../../kernels/devices/webgpu/testing.ts";
import { choicePoint } from "../../kernels/devices/webgpu/choice_points.ts";
import { choicesFolder, keepChoices, measurableOn } from "../../kernels/tuning/kept_choices.ts";
import { withCacheIn } from "../../rewards/testing.ts";
import { assemble } from "../assemble.ts";
import { shortRunConfig, trainOn, varying, withReference } from "../testing.ts";
import { GrpoTrainer } from "../trainer.ts";
import { chooseRunKernels } from "./run_kernels.ts";

/** Calls `work` with an empty cache folder of the user. */
const withCache = (work: (cache: string) => Promise<void>) =>
  withFolder((cache) => withCacheIn(cache, () => work(cache)));

/** One for all runs: its pipelines are made once. */
let shared: WebgpuDevice | undefined;
globalThis.addEventListener("unload", () => shared?.close());

/** Each run begins without chosen kernels. */
async function onGpu<T>(work: (device: WebgpuDevice) => Promise<T>): Promise<T> {
  shared ??= await createWebgpuDevice();
  shared.kernelChoices = {};
  return await work(shared);
}

const ONE_STEP = { sft: { max_steps: 0 }, eval: { num_examples: 0 } };
const configOf = (path: string) => shortRunConfig(path, ONE_STEP);
/** One that no rule takes on a software adapter. */
const SMALL_TILE = "tile 16x16 4x4 k128 s16";
const plan = { ...varying, tuneKernels: true };

/**
 * Keeps a small tile for all products of the run, as if it had been the fastest, and the
 * rule's for all else. @returns the kernels by class
 */
async function keepSmall(path: string): Promise<Record<string, string>> {
  return await onGpu(async (device) => {
    const config = configOf(path);
    const parts = await assemble(config, device);
    const trainer = new GrpoTrainer({ config, configText: "", device, ...parts });
    const kernels = Object.fromEntries((await trainer.rehearse()).map((call) => {
      const args = { ...call.scalars, ...call.tensors };
      const [rule] = choicePoint(call.point).candidates(args, device);
      return [call.class, call.point === "matmul" ? SMALL_TILE : rule!];
    }));
    parts.model.dispose();
    assert.equal(device.counters.dispatches, 0, "a rehearsal computes nothing");
    const about = measurableOn("webgpu", device.adapter), folder = choicesFolder(about)!;
    await Deno.mkdir(folder, { recursive: true });
    const choices = Object.fromEntries(
      Object.entries(kernels).map(([name, kernel]) => [
        name,
        { kernel, ms: 1, rule: kernel === SMALL_TILE ? "vector" : kernel, rule_ms: 2 },
      ]),
    );
    await keepChoices(folder, about, { choices, bad: {} });
    return kernels;
  });
}

webgpuTest(
  "a resumed run uses the kernels of its checkpoint, and keeps its bits",
  () =>
    withCache((cache) =>
      withFolder(async (folder) => {
        const kernels = await keepSmall(`${folder}/none`), classes = Object.keys(kernels);
        assert.ok(classes.length >= 8, classes.join(", "));
        assert.ok(classes.some((name) => name.includes(" tn ")), "the gradients' products");
        const whole = await onGpu(async (device) => {
          const { events } = await trainOn(device, configOf(`${folder}/whole`), plan);
          assert.deepEqual(device.kernelChoices, kernels);
          return events.filter(({ type }) => type === "kernels");
        });
        const changed = Object.values(kernels).filter((kernel) => kernel === SMALL_TILE).length;
        const known = { measured: 0, known: classes.length, left: 0, changed };
        const [{ type: _, seconds: __, ...event }] = whole as unknown as [
          { type: string; seconds: number },
        ];
        assert.deepEqual(event, known);
        await onGpu(async (device) => {
          let steps = 0;
          const { summary } = await trainOn(device, configOf(`${folder}/parts`), {
            ...plan,
            listeners: [({ type }) => type === "step" && steps++],
            control: { stopRequested: () => steps > 0 ? "save" : "no" },
          });
          assert.equal(summary.status, "stopped");
        });
        // What the cache says now does not matter, and neither does the flag.
        await Deno.remove(`${cache}/kernels`, { recursive: true });
        await onGpu(async (device) => {
          await trainOn(device, configOf(`${folder}/parts`), {
            ...plan,
            tuneKernels: false,
            resume: true,
          });
          assert.deepEqual(device.kernelChoices, kernels);
        });
        const weights = (name: string) => Deno.readFile(`${folder}/${name}/model.safetensors`);
        assert.deepEqual(await weights("parts"), await weights("whole"));
        const run = JSON.parse(await Deno.readTextFile(`${folder}/parts/run.json`));
        assert.deepEqual(run.kernels, kernels);
        // On a CPU the run has no kernels of a card, and its user is told.
        await withReference(async (device) => {
          const { events } = await trainOn(device, configOf(`${folder}/parts`), {
            ...plan,
            resume: true,
          });
          assert.match(
            events.map((event) => event.type === "warning" ? event.message : "").join("\n"),
            /was on the device webgpu and goes on with reference: .* \(--device webgpu keeps it\)/,
          );
          const run = JSON.parse(await Deno.readTextFile(`${folder}/parts/run.json`));
          assert.deepEqual([run.device, run.kernels], ["reference", undefined]);
        });
      })
    ),
);

const ADAPTER = { name: "card", vendor: 1, device: 2, software: true };

/** A run of which only the choice of kernels is looked at. */
function runOn(kernels: ChosenKernels | null, options: { tuneKernels?: boolean } = {}) {
  const device = {
    name: "webgpu",
    adapter: ADAPTER,
    rehearse: () => Promise.resolve([]),
  } as unknown as
    & Device
    & { kernelChoices?: object };
  const state = { kernels };
  const choose = (restored: boolean) =>
    chooseRunKernels({ device, ...options }, state, ALONE, restored, () => Promise.resolve([]));
  return { device, state, choose };
}

Deno.test("a checkpoint of another card says so; one without kernels goes on without", async () => {
  const about = measurableOn("webgpu", ADAPTER), choices = { "matmul 1": SMALL_TILE };
  const same = runOn({ about, choices });
  assert.deepEqual(await same.choose(true), { event: null, notes: [] });
  assert.deepEqual(same.device.kernelChoices, choices);
  const other = runOn({ about: { ...about, rgx: "0.0.0" }, choices });
  const { notes } = await other.choose(true);
  assert.match(notes.join(), /of another card, driver or version/);
  assert.equal(other.device.kernelChoices, undefined);
  assert.equal(other.state.kernels, null);
  const without = runOn(null, { tuneKernels: true });
  assert.deepEqual(await without.choose(true), { event: null, notes: [] });
  // A software adapter is not measured unasked.
  const fresh = runOn(null);
  assert.deepEqual(await fresh.choose(false), { event: null, notes: [] });
});
