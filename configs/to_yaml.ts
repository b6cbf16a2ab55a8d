/**
 * The configuration as YAML with canonical keys in sections. It is written beside a run and is
 * enough to repeat it. Secrets appear as the `${oc.env:…}` that they came from.
 */
import { stringify } from "yaml";
import {
  DEFAULTS,
  fromJson,
  type Json,
  mapScalars,
  nowhere,
  type Scalar,
  toJson,
} from "./documents/node.ts";
import { escapeText, isSecretName } from "./reading/interpolation.ts";
import { isRewardSection, rewardAsWritten } from "./schema/reward_section.ts";
import type { RunConfig } from "./schema/run_config.ts";
import { ROOTS } from "./schema/schema.ts";

/** The configuration as the document that is written: canonical keys in sections. */
export function asDocument(config: RunConfig): Record<string, Json> {
  const { rewards, model, sft, dpo, teacher, ...rest } = withoutToken(config);
  // A run on preferences has its loop in `training`; its section `sft` repeats those keys.
  const others = { ...(dpo ? { dpo } : { sft }), ...(teacher ? { teacher } : {}) };
  const document = { model, ...rest, ...others, rewards: rewards.map(rewardAsWritten) };
  return structuredClone(document) as unknown as Record<string, Json>;
}

/**
 * The YAML text of an object if it is a whole configuration that was read, perhaps with changes;
 * otherwise null. Its `${…}` have been replaced already, so `${` in a text is no expression.
 */
export function textOfRead(config: object): string | null {
  const { rewards } = config as { rewards?: unknown };
  const isWhole = [...ROOTS].every((root) => root in config) && Array.isArray(rewards) &&
    rewards.every(isRewardSection);
  if (!isWhole) return null;
  const { training: { hub_token } } = config as RunConfig;
  const document = asDocument(config as RunConfig);
  const training = { ...document["training"] as object, hub_token };
  return stringify(
    mapValues(
      { ...document, training },
      (value) => typeof value === "string" ? escapeText(value) : value,
    ),
  );
}

/** The configuration without the token of an upload, which is written to no file. */
export function withoutToken(config: RunConfig): RunConfig {
  return { ...config, training: { ...config.training, hub_token: null } };
}

/** Values with secrets that were read → their texts before interpolation. */
const SECRET_VALUES = new Map<string, string>();

/** A secret, which is written to no file, also if a program copies it to another configuration. */
export function rememberSecret(value: string, text: string): void {
  if (value.length >= 8) SECRET_VALUES.set(value, text);
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
  return stringify(
    mapValues(document, (value, key) => {
      const secret = secrets.get(key) ?? SECRET_VALUES.get(String(value));
      return secret ?? (typeof value === "string" ? escapeText(value) : value);
    }),
    { lineWidth: 0 },
  );
}

function mapValues(document: Json, change: (value: Scalar, key: string) => Scalar): Json {
  return toJson(mapScalars(fromJson(document, nowhere(DEFAULTS)), (scalar, key) => ({
    ...scalar,
    value: change(scalar.value, key),
  })));
}
