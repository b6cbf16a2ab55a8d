/**
 * TRL's keys of generation on a vLLM server: `use_vllm: true` with `vllm_mode: server`. They are
 * translated into section `generation`. The server is one with OpenAI's API (`vllm serve`, `rgx
 * serve`), to which the adapter is sent; that of `trl vllm-serve` has an API of its own. The mode
 * colocate samples in the process of the training, as rgx does without these keys.
 */
import { isNull, toJson } from "../documents/node.ts";
import { key, type KeySpec } from "../types/key_spec.ts";
import { bool, choice, float, int, name, nullable } from "../types/value_types.ts";
import type { Translation } from "./translation.ts";

const DEFAULTS = { host: "0.0.0.0", port: 8000, timeout: 240 } as const;
const SERVER_KEYS = ["base_url", "host", "port", "timeout"] as const;

function serverKey<T>(type: KeySpec<T>["type"], value: T, flat: string, doc: string): KeySpec {
  return key(type, () => value, `TRL: ${doc}`, [flat]) as KeySpec;
}

/** The keys themselves, checked like other keys. */
export const TRL_SERVER: Readonly<Record<string, KeySpec>> = {
  "training.use_vllm": serverKey(bool(), false, "use_vllm", "generation.backend: openai"),
  "training.vllm_mode": serverKey(
    choice(["colocate", "server"]),
    "colocate",
    "vllm_mode",
    "only server, with use_vllm",
  ),
  "training.vllm_server_base_url": serverKey(
    nullable(name()),
    null,
    "vllm_server_base_url",
    "generation.base_url",
  ),
  "training.vllm_server_host": serverKey(
    name(),
    DEFAULTS.host,
    "vllm_server_host",
    "the host of generation.base_url",
  ),
  "training.vllm_server_port": serverKey(
    int({ min: 1, max: 65535 }),
    DEFAULTS.port,
    "vllm_server_port",
    "the port of generation.base_url",
  ),
  "training.vllm_server_timeout": serverKey(
    float({ min: 0 }),
    DEFAULTS.timeout,
    "vllm_server_timeout",
    "generation.server_timeout",
  ),
};

export function translateTrlServer(translation: Translation): void {
  const use = translation.node("training.use_vllm");
  const mode = translation.node("training.vllm_mode");
  if (use === undefined || !translation.isTrue("training.use_vllm")) {
    return noteUnused(translation);
  }
  if (translation.text("training.vllm_mode") !== "server") {
    const text = "accepted, has no effect in rgx: it samples in the process of the training, as " +
      "vllm_mode colocate does in TRL; vllm_mode: server asks a server";
    return translation.note(use, "use_vllm", text);
  }
  const url = translation.given("training.vllm_server_base_url");
  const host = translation.given("training.vllm_server_host");
  const port = translation.given("training.vllm_server_port");
  const name = translation.text("training.vllm_server_host") ?? DEFAULTS.host;
  const number = translation.number("training.vllm_server_port")?.value ?? DEFAULTS.port;
  // Every address of this machine, seen from this machine.
  const reachable = name === "0.0.0.0" ? "127.0.0.1" : name;
  translation.set("generation", "backend", "openai", use);
  if (url !== undefined) translation.set("generation", "base_url", toJson(url), url);
  else {
    const from = host ?? port ?? mode ?? use;
    translation.set("generation", "base_url", `http://${reachable}:${number}`, from);
  }
  const timeout = translation.given("training.vllm_server_timeout");
  if (timeout !== undefined) {
    translation.set("generation", "server_timeout", toJson(timeout), timeout);
  }
}

/** Without use_vllm the other keys do nothing, in TRL too. */
function noteUnused(translation: Translation): void {
  const { host, port, timeout } = DEFAULTS;
  const neutral: Record<string, unknown> = { host, port, timeout, base_url: null };
  for (const key of SERVER_KEYS) {
    const path = `training.vllm_server_${key}`, node = translation.node(path);
    if (node === undefined || isNull(node) || toJson(node) === neutral[key]) continue;
    translation.note(node, path, "accepted, has no effect in rgx: only matters with use_vllm");
  }
  const mode = translation.node("training.vllm_mode");
  if (mode !== undefined && toJson(mode) === "server") {
    const text = "accepted, has no effect in rgx: only matters with use_vllm";
    translation.note(mode, "training.vllm_mode", text);
  }
}
