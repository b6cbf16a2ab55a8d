/**
 * `deno task docs:licenses`: writes cli/licenses/packages.json, the packages that the executable
 * holds, with their licences. Their names, versions and checksums are those of deno.lock, the texts
 * those of the packages in Deno's cache.
 */
import type { LicensedPackage } from "../cli/licenses/licenses.ts";
import { ROOT } from "./architecture/imports.ts";
import { neededImports } from "./compile.ts";

/** An entry of deno.lock. */
interface LockedPackage {
  integrity: string;
  dependencies?: string[];
}

const LOCKED: Readonly<Record<string, LockedPackage>> =
  JSON.parse(Deno.readTextFileSync(new URL("deno.lock", ROOT))).npm;

/** The folder of packages in Deno's cache. */
async function npmCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return (JSON.parse(new TextDecoder().decode(stdout)) as { npmCache: string }).npmCache;
}

/** Name and version of a package in deno.lock, with those behind "_" that it was resolved with. */
const nameAndVersion = (key: string) =>
  /^(.+?)@([^@_]+)/.exec(key)!.slice(1) as [name: string, version: string];

/** The packages of the executable by name and version, with those that they need. */
export function lockedPackages(): Map<string, { name: string; version: string; sha512: string }> {
  const found = new Map<string, { name: string; version: string; sha512: string }>();
  const waiting = Object.values(neededImports())
    .map((path) => /^npm:((?:@[^/]+\/)?[^/@]+@[^/]+)/.exec(path)![1]!);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    // "name" where there is one version, "name@version" else; "alias@npm:name@version".
    const wanted = next.replace(/^.*@npm:/, "");
    const key = Object.keys(LOCKED).find((key) =>
      key === wanted || key.startsWith(`${wanted}_`) || nameAndVersion(key)[0] === wanted
    );
    if (key === undefined) throw new Error(`deno.lock has no ${wanted}`);
    const [name, version] = nameAndVersion(key), id = `${name}@${version}`;
    if (found.has(id)) continue;
    const { integrity, dependencies = [] } = LOCKED[key]!;
    found.set(id, { name, version, sha512: integrity.replace("sha512-", "") });
    waiting.push(...dependencies);
  }
  return new Map([...found].sort(([a], [b]) => a < b ? -1 : 1));
}

async function licensed(folder: string): Promise<Pick<LicensedPackage, "license" | "text">> {
  const { license, licenses } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`));
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name).sort()
    .filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name));
  const texts = files.map((name) => Deno.readTextFileSync(`${folder}/${name}`).trim());
  const said = license ?? licenses?.[0]?.type ?? /^(\w+) License/i.exec(texts[0] ?? "")?.[1];
  return { license: said ?? "see its text", text: texts.join("\n\n") };
}

if (import.meta.main) {
  const cache = await npmCache(), packages: LicensedPackage[] = [];
  for (const { name, version, sha512 } of lockedPackages().values()) {
    const found = await licensed(`${cache}/registry.npmjs.org/${name}/${version}`);
    packages.push({ name, version, ...found, sha512 });
  }
  const path = "cli/licenses/packages.json";
  await Deno.writeTextFile(
    new URL(path, ROOT),
    `[\n${packages.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`,
  );
  console.log(`${path}: ${packages.length} packages`);
}
