/** adjust_logits on the GPU with logits beyond one binding. */
import { adjustLogitsCases } from "../../conformance/cases/adjust_logits_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

testOnWebgpu("logits beyond one binding", { bindingElements: 64 * 1009 }, async (device) => {
  for (const test of adjustLogitsCases()) {
    if (test.name.startsWith("[70×1009]")) await checkCase(device, test);
  }
});
