/**
 * Finds the test files that a change can reach: those that import a changed file, directly or
 * through other files. Tests that start the program (`main.ts`) are reached by every change of the
 * program. A changed file that is no source reaches the sources that name it.
 */
import { filesIn, importsIn, ROOT } from "../architecture/imports.ts";

/**
 * New files, and files that differ from a git reference, committed or not. @throws Error without
 * git
 */
export function changedFiles(reference: string): string[] {
  const git = (...args: string[]) => {
    const { success, stdout, stderr } = new Deno.Command("git", { args, cwd: ROOT }).outputSync();
    if (!success) throw new Error(`git ${args[0]}: ${new TextDecoder().decode(stderr).trim()}`);
    return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  };
  return [
    ...git("diff", "--name-only", reference),
    ...git("ls-files", "--others", "--exclude-standard"),
  ];
}

/** The text of every TypeScript file of the project, by path. */
export function readSources(): Map<string, string> {
  return new Map(
    [...filesIn()].filter((path) => path.endsWith(".ts"))
      .map((path) => [path, Deno.readTextFileSync(new URL(path, ROOT))]),
  );
}

/** The test files that changed files can reach. @param changed paths from the root */
export function reachedTests(
  changed: readonly string[],
  sources: ReadonlyMap<string, string>,
): string[] {
  if (changed.some((path) => /^deno\.(json|lock)$/.test(path))) {
    return [...sources.keys()].filter(isTest).sort();
  }
  const importers = new Map<string, string[]>();
  for (const [path, text] of sources) {
    for (const target of [...importsIn(text, path), ...startsIn(text)]) {
      importers.set(target, [...importers.get(target) ?? [], path]);
    }
  }
  const reached = new Set<string>(), waiting = changed.flatMap((path) => affected(path, sources));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    waiting.push(...importers.get(path) ?? []);
  }
  return [...reached].filter((path) => isTest(path) && sources.has(path)).sort();
}

const isTest = (path: string) => path.endsWith("_test.ts");

/** Programs that a file starts and does not import. */
function startsIn(text: string): string[] {
  return text.includes('"main.ts"') ? ["main.ts"] : [];
}

/** The sources that a changed file affects directly. */
function affected(path: string, sources: ReadonlyMap<string, string>): string[] {
  if (path.endsWith(".ts")) return [path];
  const golden = /^tests\/golden\/([^/]+)/.exec(path)?.[1];
  const name = golden ?? path.slice(path.lastIndexOf("/") + 1);
  return [path, ...[...sources].filter(([, text]) => text.includes(name)).map(([file]) => file)];
}
