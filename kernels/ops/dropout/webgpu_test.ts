/** Dropout on the GPU: tensors beyond one binding, and the text of its kernel. */
import { dropoutCases } from "../../conformance/cases/dropout.ts";
import { checkCase } from "../../conformance/runner.ts";
import { checkSnapshot, testOnWebgpu } from "../../devices/webgpu/testing.ts";
import { dropoutKernel } from "./webgpu.ts";

testOnWebgpu(
  "dropout of tensors beyond one binding",
  { bindingElements: 300 * 64 },
  async (device) => {
    for (const test of dropoutCases()) {
      if (test.name.startsWith("[301×300]")) await checkCase(device, test);
    }
  },
);

Deno.test("the text of dropout's kernel has not changed", () =>
  checkSnapshot(import.meta, "dropout", dropoutKernel({ whole: true, accumulate: true })));
