/** `rgx licenses`: what the executable holds of others, and under which licences. */
import { UsageError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import own from "../../LICENSE" with { type: "text" };
import naga from "../../kernels/devices/vulkan/naga/LICENSE-MIT" with { type: "text" };
import charts from "../../reports/charts/assets/LICENCE.md" with { type: "text" };
import apache from "../../tasks/assets/APACHE-2.0.txt" with { type: "text" };
import tasks from "../../tasks/assets/LICENCE.md" with { type: "text" };
import { print, table } from "../terminal/terminal.ts";
import packagesText from "./packages.json" with { type: "text" };

export interface LicensedPackage {
  name: string;
  version: string;
  /** The licence as the package names it: an identifier of SPDX where it follows the rules. */
  license: string;
  /** The texts of its licence files; empty: it has none. */
  text: string;
  /** The checksum of its archive in base64, from deno.lock. */
  sha512: string;
}

const PACKAGES: readonly LicensedPackage[] = JSON.parse(packagesText);

type Part = Omit<LicensedPackage, "sha512"> & { sha512?: string };

const PARTS: readonly Part[] = [
  { name: "rgx", version: VERSION, license: "MIT", text: own },
  {
    name: "deno",
    version: Deno.version.deno,
    license: "MIT",
    text:
      "Copyright the Deno authors. MIT License: https://deno.com\n\nThe base executable holds " +
      "V8 (BSD-3-Clause) and the crates that its own\nsources list: https://github.com/denoland/deno",
  },
  { name: "naga", version: "", license: "MIT OR Apache-2.0", text: naga },
  {
    name: "words, letters, puzzles and stories of tasks",
    version: "",
    license: "MIT, Apache-2.0 and others",
    text: `${tasks}\n\n${apache}`,
  },
  { name: "fonts of charts", version: "", license: "see its text", text: charts },
  ...PACKAGES,
];

interface LicensesFlags {
  text?: boolean;
  sbom?: boolean;
  json?: boolean;
}

/** @param names of parts whose texts are printed; none: a table of all */
export function licenses(names: readonly string[], { text, sbom, json }: LicensesFlags): void {
  const chosen = names.length === 0 ? PARTS : names.flatMap((name) => {
    const found = PARTS.filter((part) => part.name === name);
    if (found.length > 0) return found;
    throw new UsageError(`${name}: is no part of this executable`, {
      advice: "rgx licenses lists them.",
    });
  });
  if (sbom) return print(JSON.stringify(billOfMaterials(), null, 2));
  if (json) return print(JSON.stringify(chosen, null, 2));
  if (text || names.length > 0) {
    for (const { name, version, license, text } of chosen) {
      print(`${[name, version].join(" ").trim()}: ${license}\n\n${text || "(no file)"}\n`);
    }
    return;
  }
  print(table([
    ["part", "version", "licence"],
    ...chosen.map(({ name, version, license }) => [name, version, license]),
  ]));
}

function billOfMaterials() {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { type: "application", name: "rgx", version: VERSION } },
    components: [
      { type: "framework", name: "deno", version: Deno.version.deno },
      ...PACKAGES.map(({ name, version, license, sha512 }) => ({
        type: "library",
        name,
        version,
        purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
        licenses: [
          /^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license },
        ],
        hashes: [{ alg: "SHA-512", content: hex(sha512) }],
      })),
    ],
  };
}

const hex = (base64: string) => Uint8Array.fromBase64(base64).toHex();
