/** Selection of a GPU, and messages when there is none, on simulated machines. */
import assert from "node:assert/strict";
import { refusal, test } from "../../../core/testing.ts";
import { RgxError, UsageError } from "../../../core/errors.ts";
import { requestDevice } from "./adapter.ts";
import { cardEnvironment, listCards } from "./cards.ts";
import { type Machine, missingForGpu, noAdapterError } from "./no_adapter.ts";

const H100 = { vendor: "10de", device: "2330" };
const TWINS = [{ address: "0000:41:00.0", ...H100 }, { address: "0000:c1:00.0", ...H100 }];

test.inFolder("cards are the display controllers of the PCI bus, sorted by address", async (root) => {
  const devices: Record<string, [kind: string, vendor: string]> = {
    "0000:c1:00.0": ["0x030200", "0x10de"],
    "0000:00:1f.0": ["0x060100", "0x10de"],
    "0000:41:00.0": ["0x030000", "0x10de"],
    "0000:03:00.0": ["0x030000", "0x1a03"], // the remote console of a server
  };
  for (const [address, [kind, vendor]] of Object.entries(devices)) {
    await Deno.mkdir(`${root}/${address}`);
    await Deno.writeTextFile(`${root}/${address}/class`, `${kind}\n`);
    await Deno.writeTextFile(`${root}/${address}/vendor`, `${vendor}\n`);
    await Deno.writeTextFile(`${root}/${address}/device`, "0x2330\n");
  }
  assert.deepEqual(listCards(root), TWINS);
  assert.deepEqual(listCards(`${root}/none`), []);
});

Deno.test("a card is selected by Mesa's layer, or by its model if there is only one", () => {
  assert.deepEqual(cardEnvironment(1, TWINS, true), {
    MESA_VK_DEVICE_SELECT: "10de:2330!",
    DRI_PRIME: "pci-0000_c1_00_0",
  });
  assert.deepEqual(cardEnvironment(0, TWINS.slice(0, 1), false), {
    VK_LOADER_DEVICE_SELECT: "10de:2330",
  });
});

Deno.test("a missing card, or one that cannot be distinguished from another, is refused", () => {
  const refuses = (card: number, pattern: RegExp) =>
    assert.throws(
      () => cardEnvironment(card, TWINS, false),
      refusal(pattern, UsageError),
    );
  refuses(2, /no graphics card 2: this machine has 2\n\s+webgpu:0 is 10de:2330 at 0000:41:00\.0/);
  refuses(0, /card 0 cannot be selected: this machine has 2 of its model/);
});

function machine(files: string[], closed: string[] = [], os = "linux"): Machine {
  return {
    os,
    exists: (path) => files.includes(path),
    canOpen: (path) => files.includes(path) && !closed.includes(path),
  };
}

const LOADER = "/usr/lib/x86_64-linux-gnu/libvulkan.so.1";

Deno.test("without an adapter, the error names what is missing and a command that helps", () => {
  const says = (m: Machine, ...patterns: RegExp[]) => {
    const text = missingForGpu(m).join("\n");
    for (const pattern of patterns) assert.match(text, pattern);
    return text;
  };
  says(machine([]), /apt-get install libvulkan1/, /no graphics card is visible/);
  says(machine([LOADER]), /mesa-vulkan-drivers/);
  const driver = says(machine([LOADER, "/dev/nvidia0"]), /nvidia_icd\.json/, /VK_DRIVER_FILES/);
  assert.ok(!driver.includes("libvulkan1"));
  says(
    machine(
      [LOADER, "/dev/nvidia0", "/usr/share/vulkan/icd.d/nvidia_icd.json"],
      ["/dev/nvidia0"],
    ),
    /\/dev\/nvidia0 may not be opened/,
  );
  assert.deepEqual(missingForGpu(machine([], [], "darwin")), []);
  const error = noAdapterError(machine([]));
  assert.equal(error.exitCode, 2);
  assert.match(error.advice ?? "", /--device wasm/);
});

Deno.test("an adapter with too small limits is refused; the error names the limit", async () => {
  const limits = {
    maxStorageBufferBindingSize: 2 ** 27,
    maxBufferSize: 2 ** 28,
    maxComputeWorkgroupStorageSize: 8192,
    maxComputeInvocationsPerWorkgroup: 256,
    maxComputeWorkgroupSizeX: 256,
    maxStorageBuffersPerShaderStage: 8,
    maxComputeWorkgroupsPerDimension: 65_535,
  };
  const info = { description: "a small one", vendor: "1", device: "2", isFallbackAdapter: false };
  const small = { limits, info } as unknown as GPUAdapter;
  await assert.rejects(
    () => requestDevice(small),
    (error: RgxError) =>
      error instanceof RgxError && error.exitCode === 2 &&
      /a small one is too small for rgx: its maxComputeWorkgroupStorageSize is 8192, at least 16384/
        .test(error.message),
  );
});
