/**
 * TRL's keys of generation on a vLLM server: `use_vllm: true` with `vllm_mode: server`. They are
 * translated into section `generation`. The server is one with OpenAI's API (`vllm serve`, `rgx
 * serve`), to which the adapter is sent; that of `trl vllm-serve` has an API of its own. The mode
 * colocate samples in the process of the training, as rgx does without these keys.
 */
import { toJson } from "../documents/node.ts";
import type { Translation } from "./translation.ts";

const NO_EFFECT = "accepted, has no effect in rgx: ";

/** TRL's defaults: without use_vllm other values do nothing, in TRL too. */
const DEFAULTS = {
  vllm_mode: "colocate",
  vllm_server_base_url: null,
  vllm_server_host: "0.0.0.0",
  vllm_server_port: 8000,
  vllm_server_timeout: 240,
};

export function translateTrlServer(translation: Translation): void {
  const use = translation.given("training.use_vllm");
  const given = (name: string) => translation.given(`training.vllm_${name}`);
  if (use === undefined || !translation.isTrue("training.use_vllm")) {
    for (const [name, byDefault] of Object.entries(DEFAULTS)) {
      const node = translation.given(`training.${name}`);
      if (node === undefined || toJson(node) === byDefault) continue;
      translation.note(node, `training.${name}`, `${NO_EFFECT}only matters with use_vllm`);
    }
    return;
  }
  if (translation.text("training.vllm_mode") !== "server") {
    const text =
      `${NO_EFFECT}it samples in the process of the training, as vllm_mode colocate does ` +
      "in TRL; vllm_mode: server asks a server";
    return translation.note(use, "use_vllm", text);
  }
  translation.set("generation.backend", "openai", use);
  translation.copy("training.vllm_server_base_url", "generation.base_url");
  translation.copy("training.vllm_server_timeout", "generation.server_timeout");
  if (given("server_base_url") !== undefined) return;
  const name = translation.text("training.vllm_server_host") ?? DEFAULTS.vllm_server_host;
  const port = translation.number("training.vllm_server_port")?.value ?? DEFAULTS.vllm_server_port;
  // Every address of this machine, seen from this machine.
  const reachable = name === "0.0.0.0" ? "127.0.0.1" : name;
  const from = given("server_host") ?? given("server_port") ?? given("mode") ?? use;
  translation.set("generation.base_url", `http://${reachable}:${port}`, from);
}
