/**
 * Khronos' validation layer says nothing over cases of every operation. It takes minutes, so it is
 * only run with RGX_TEST_VULKAN=1, where the layer is installed (Debian's vulkan-validationlayers)
 * or VK_LAYER_PATH names its folder.
 */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { hasVulkan } from "./testing.ts";

const FOLDERS = [Deno.env.get("VK_LAYER_PATH"), "/usr/share/vulkan/explicit_layer.d"];
const hasLayer = FOLDERS.some((folder) => {
  try {
    return Deno.statSync(`${folder}/VkLayer_khronos_validation.json`).isFile;
  } catch {
    return false;
  }
});
const KERNELS = `${import.meta.dirname}/../..`;

/** What a process of Deno with the layer writes. */
async function withLayer(args: string[]): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    // Some cases of each operation are enough.
    env: { NO_COLOR: "1", RGX_TEST_VULKAN: "", VK_INSTANCE_LAYERS: "VK_LAYER_KHRONOS_validation" },
  }).output();
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test({
  name: "the validation layer is silent over all operations, and finds a planted mistake",
  ignore: needs(hasVulkan, NEEDED.vulkan) ||
    needs(Deno.env.get("RGX_TEST_VULKAN") === "1" && hasLayer, NEEDED.validationLayer),
  async fn() {
    const mistake = await withLayer([
      "eval",
      "--config",
      `${KERNELS}/../deno.json`,
      `import { VulkanGpu } from "${KERNELS}/devices/vulkan/gpu.ts";
       import { createInstance, listPhysical } from "${KERNELS}/devices/vulkan/physical.ts";
       const opened = createInstance();
       const gpu = new VulkanGpu(opened, listPhysical(opened.vulkan, opened.instance)[0]);
       gpu.core.vulkan.vkDestroySemaphore(gpu.core.device, 12345n, null);`,
    ]);
    assert.match(mistake.text, /VUID-vkDestroySemaphore/);
    const suite = await withLayer([
      "test",
      "-A",
      "--no-check",
      "--filter",
      "/vulkan|\\(matrix units\\)/",
      "--config",
      `${KERNELS}/../deno.json`,
      ...["conformance/conformance_test.ts", "devices/vulkan/device_test.ts", "device_test.ts"]
        .concat(["conformance/matrix_units_test.ts"])
        .map((file) => `${KERNELS}/${file}`),
    ]);
    assert.equal(suite.code, 0, suite.text);
    assert.match(suite.text, /matmul agrees .*vulkan.* ok/);
    assert.doesNotMatch(suite.text, /VUID|Validation (Error|Warning)/);
  },
});
