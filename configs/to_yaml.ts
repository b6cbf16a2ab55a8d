/**
 * The configuration as YAML with canonical keys in sections. It is written beside a run and is
 * enough to repeat it. Secrets appear as the `${oc.env:…}` that they came from.
 */
import { stringify } from "yaml";
import type { Json } from "./documents/node.ts";
import { escapeText, isSecretName } from "./reading/interpolation.ts";
import type { RunConfig } from "./schema/run_config.ts";

/** The configuration as the document that is written: canonical keys in sections. */
export function asDocument(config: RunConfig): Record<string, Json> {
  const { rewards, model, ...rest } = withoutToken(config);
  const document = {
    model,
    ...rest,
    rewards: rewards.map(({ name, weight, params, file, ...more }) => ({
      name,
      weight,
      ...more,
      ...file,
      ...params,
    })),
  };
  return structuredClone(document) as unknown as Record<string, Json>;
}

/** The configuration without the token of an upload, which is written to no file. */
export function withoutToken(config: RunConfig): RunConfig {
  return { ...config, training: { ...config.training, hub_token: null } };
}

/** The YAML text. `secrets`: dotted key → text before interpolation. */
export function renderYaml(
  config: RunConfig,
  environment: Readonly<Record<string, string>>,
  secrets: ReadonlyMap<string, string>,
): string {
  const variables = Object.entries(environment).filter(([name]) => !isSecretName(name));
  const document: Record<string, Json> = {
    ...variables.length > 0 ? { env: Object.fromEntries(variables) } : {},
    ...asDocument(config),
  };
  return stringify(escape(document, "", secrets), { lineWidth: 0 });
}

function escape(value: Json, key: string, secrets: ReadonlyMap<string, string>): Json {
  const secret = secrets.get(key);
  if (secret !== undefined) return secret;
  const sub = (name: string | number) => key === "" ? `${name}` : `${key}.${name}`;
  if (typeof value === "string") return escapeText(value);
  if (Array.isArray(value)) return value.map((item, i) => escape(item, sub(i), secrets));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, escape(item, sub(name), secrets)]),
  );
}
