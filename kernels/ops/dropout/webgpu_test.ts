/** Dropout on the GPU: tensors beyond one binding, and the text of its kernel. */
import { dropoutCases } from "../../conformance/cases/dropout_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

testOnWebgpu(
  "dropout of tensors beyond one binding",
  { bindingElements: 300 * 64 },
  async (device) => {
    for (const test of dropoutCases()) {
      if (test.name.startsWith("[301×300]")) await checkCase(device, test);
    }
  },
);
