import assert from "node:assert/strict";
import { SAFE_V8_FLAGS } from "../../core/program_command.ts";
import { readSources } from "./changed.ts";
import { fastPlan, fullPlan, type PlannedJob } from "./plan.ts";

const FILES = [...readSources().keys()].filter((path) => path.endsWith("_test.ts"));

interface Selection {
  files: string[];
  ignored: string[];
}

/** The files, folders and patterns that a run of `deno test` selects and ignores. */
function selection({ args, together = [] }: PlannedJob): Selection {
  const ignore = args.find((arg) => arg.startsWith("--ignore="))?.slice("--ignore=".length);
  return {
    files: [...args.slice(1).filter((arg) => !arg.startsWith("-")), ...together],
    ignored: ignore?.split(",") ?? [],
  };
}

/** Whether a file is what a pattern names, or below it. */
function matches(file: string, pattern: string): boolean {
  const folder = pattern.replace(/\/$/, "").replaceAll(".", "\\.").replaceAll("**", ".*");
  return new RegExp(`^${folder}(/|$)`).test(file);
}

const runsTests = ({ kind, args }: PlannedJob) => kind === "tests" && !args.includes("--doc");

Deno.test("all files and folders of the test plans exist", () => {
  const missing = new Set<string>();
  for (const job of [...fastPlan(), ...fullPlan()].filter(runsTests)) {
    const { files, ignored } = selection(job);
    for (const pattern of [...files, ...ignored]) {
      if (!FILES.some((file) => matches(file, pattern))) missing.add(pattern);
    }
  }
  assert.deepEqual([...missing], []);
});

Deno.test("the full plan runs every test file once with the V8 flags of the program", () => {
  const runs = fullPlan().filter(runsTests).filter(({ args }) => !args.includes(SAFE_V8_FLAGS))
    .map(selection);
  const counts = FILES.map((file) => {
    const selecting = runs.filter(({ files, ignored }) =>
      files.some((path) => matches(file, path)) && !ignored.some((path) => matches(file, path))
    );
    return [file, selecting.length] as const;
  });
  assert.deepEqual(counts.filter(([, count]) => count !== 1), []);
});
