/**
 * The section `slurm` of a configuration, read alone. `rgx slurm` needs it before all else: its
 * `work_dir` is where the paths of the configuration begin.
 */
import { readSlurm } from "./build.ts";
import { type ConfigNode, formatPosition, type MapNode, Problems } from "./documents/node.ts";
import { translateForeignKeys } from "./foreign/translate_foreign_keys.ts";
import { findConfig, mergedTree } from "./merged_tree.ts";
import type { Environment } from "./reading/interpolation.ts";
import { parseOverrides } from "./reading/overrides.ts";
import type { RunConfig } from "./schema/run_config.ts";

export interface SectionOptions {
  overrides: readonly string[];
  env: Environment;
  cwd: string;
}

/** The section, and the place where one of its keys is written. */
export interface FoundSection {
  section: NonNullable<RunConfig["slurm"]>;
  /** `my.yaml:7:13: slurm.work_dir` */
  placeOf(name: keyof NonNullable<RunConfig["slurm"]>): string;
}

/**
 * The section, or null: there is none, or the configuration has mistakes. The mistakes are reported
 * later, when the whole configuration is read.
 * @throws UsageError when there is no such configuration, or an argument that is no override
 */
export async function findSlurmSection(
  config: string | object,
  { overrides, env, cwd }: SectionOptions,
): Promise<FoundSection | null> {
  const problems = new Problems(), parsed = parseOverrides(overrides);
  const merged = await mergedTree(
    await findConfig(config, cwd),
    { overrides: parsed, env, cwd },
    problems,
  );
  const tree = translateForeignKeys(merged, problems), section = readSlurm(tree, problems);
  if (section === null || problems.count > 0) return null;
  return { section, placeOf: (name) => place(tree, name) };
}

function place(tree: MapNode, name: string): string {
  const node: ConfigNode | undefined = tree.entries.get("slurm")?.node;
  const at = (node?.kind === "map" ? node.entries.get(name)?.node.at : undefined) ?? tree.at;
  return `${formatPosition(at)}: slurm.${name}`;
}
