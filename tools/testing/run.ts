/**
 * Runs the tests. The last line of output is `N passed, N failed` (`, N skipped`). The lines before
 * it name what failed, and count skipped tests by reason.
 *
 *     deno task test                     format, lint, types and every test
 *     deno task test:fast                the important tests, in about a minute
 *     deno task test FILE…               test files, or folders of them
 *     deno task test --changed [REF]     the tests that changes since REF (HEAD) can reach
 *     deno task test --watch FILE…       runs them again after every change
 */
import { processIsAlive } from "../../core/machine/process_alive.ts";
import { exists } from "../../core/paths.ts";
import { V8_FLAGS } from "../../core/program_command.ts";
import { ROOT } from "../architecture/imports.ts";
import { changedFiles, reachedTests, readSources } from "./changed.ts";
import { fastPlan, fullPlan, type PlannedJob, tests } from "./plan.ts";
import { type JobResult, runJobs } from "./processes.ts";
import { Summary } from "./summary.ts";

/** Most tests use one thread at a time, so on two cores two runs do not slow each other down. */
const CONCURRENCY = 2;

/** This test does not import the sources that it reads. */
const READS_ALL_SOURCES = "tests/project/architecture_test.ts";

function planOf(args: readonly string[]): PlannedJob[] {
  const [flag, ...rest] = args;
  if (flag === undefined) return fullPlan();
  if (flag === "--fast") return fastPlan();
  if (flag !== "--changed") return [tests("the files asked for", args)];
  const reached = reachedTests(changedFiles(rest[0] ?? "HEAD"), readSources());
  const files = [...new Set([READS_ALL_SOURCES, ...reached])];
  console.log(`The changes can reach ${files.length} test files.`);
  const parts = Array.from(
    { length: CONCURRENCY },
    (_, i) => files.filter((_, n) => n % CONCURRENCY === i),
  );
  return parts.filter((part) => part.length > 0)
    .map((part, i) => tests(`part ${i + 1} of the reached tests`, part));
}

/**
 * The job with its test files as one module: what they import is loaded, and made, once.
 * @param dir folder for the module
 */
function asOneModule(job: PlannedJob, dir: string): PlannedJob {
  if (job.together === undefined) return job;
  const path = Deno.makeTempFileSync({ dir, suffix: "_test.ts" });
  const urls = job.together.map((file) => new URL(file, ROOT).href);
  Deno.writeTextFileSync(path, urls.map((url) => `import "${url}";\n`).join(""));
  return { ...job, args: [...job.args, "--config", new URL("deno.json", ROOT).pathname, path] };
}

if (Deno.args[0] === "--watch") {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", V8_FLAGS, "--watch", ...Deno.args.slice(1)],
    cwd: ROOT,
  }).spawn();
  Deno.exit((await child.status).code);
}

const summary = new Summary(), start = performance.now();
const report = ({ job, success, text, seconds }: JobResult) => {
  const { kind } = job as PlannedJob;
  if (kind === "check") summary.addCheck(job.name, success);
  else summary.addRun(job.name, text, success);
  const isQuiet = kind === "check" && success;
  if (!isQuiet) console.log(`\n# ${job.name}\n${text.trimEnd()}`);
  console.log(`${success ? "ok" : "FAILED"}: ${job.name} (${seconds.toFixed(0)} s)`);
};
const modules = Deno.makeTempDirSync();
const plan = planOf(Deno.args).map((job) => asOneModule(job, modules));
/** Waits for the process RGX_TEST_COMPILING, which builds the executable. */
async function executableIsBuilt(): Promise<void> {
  const builder = Number(Deno.env.get("RGX_TEST_COMPILING") ?? 0);
  if (builder === 0) return;
  while (processIsAlive(builder)) await new Promise((resolve) => setTimeout(resolve, 200));
  summary.addCheck("the executable is built", await exists(new URL("dist/rgx", ROOT).pathname));
}

const later = plan.filter(({ needsExecutable }) => needsExecutable);
const waiting = plan.filter(({ waits }) => waits);
const others = plan.filter((job) => !later.includes(job) && !waiting.includes(job));
await Promise.all([
  runJobs(others, CONCURRENCY, ROOT, report),
  runJobs(waiting, 1, ROOT, report),
  executableIsBuilt().then(() => runJobs(later, 1, ROOT, report)),
]);
Deno.removeSync(modules, { recursive: true });
console.log(`\n${((performance.now() - start) / 60_000).toFixed(1)} minutes`);
console.log(summary.lines().join("\n"));
Deno.exit(summary.failed === 0 ? 0 : 1);
