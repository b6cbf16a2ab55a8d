/** The table that `rgx config show` prints: every key with its value and its origin. */
import { stringify } from "yaml";
import type { Json } from "./documents/node.ts";
import { leaves } from "./dotted_keys.ts";
import type { LoadedConfig } from "./load.ts";

/** Lines `key: value   # file:line`. The comments are aligned, except after very long lines. */
export function renderOrigins(loaded: LoadedConfig): string {
  const rows = leaves(loaded.config).map(([key, value]) => {
    const shown = loaded.secrets.get(key) ?? value;
    return [`${key}: ${oneLine(shown)}`, loaded.origins.get(key) ?? "default"] as const;
  });
  const width = Math.min(60, Math.max(...rows.map(([text]) => text.length)));
  return rows.map(([text, origin]) => `${text.padEnd(width)}   # ${origin}`).join("\n");
}

function oneLine(value: Json): string {
  if (typeof value === "string" && /[\n\r]/.test(value)) return JSON.stringify(value);
  return stringify(value, { lineWidth: 0, collectionStyle: "flow" }).trim();
}
