/** `rgx dashboard`: serves the page until a signal ends it. */
import { UsageError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import { checkFolders, findRuns } from "../../reports/dashboard/reading/find_runs.ts";
import { newToken } from "../../reports/dashboard/data_routes.ts";
import { startDashboard } from "../../reports/dashboard/server.ts";
import type { FlagsOf } from "../flags.ts";
import { stopSignal } from "../signals.ts";
import { log, print } from "../terminal/terminal.ts";

const USUAL = ["experiments", "benchmark_results"];
/** Folders of the recipe gsm8k and of rgx eval. They are shown if they hold a run or results. */
const ALSO = ["trl_grpo_outputs", "results"];
const PORT = 6080;
/** A token with fewer characters is guessed too easily. */
const MIN_TOKEN = 8;

export async function dashboard(
  named: string[],
  options: FlagsOf<"DASHBOARD">,
): Promise<void> {
  const folders = named.length > 0 ? named : await usualFolders();
  await checkFolders(folders);
  const { host = "127.0.0.1", port = PORT } = options;
  const started = await startDashboard({
    folders,
    hostname: host,
    port,
    token: tokenOf(options.token),
    allowRuns: options.allowRuns ?? false,
  });
  const end = stopSignal(); // before the address is printed: whoever reads it may send a signal
  try {
    if (options.token === false) {
      log("note: without a token, everybody who reaches this port can read the runs");
    }
    if (options.json) print(JSON.stringify({ url: started.url, folders }));
    else {
      print(started.url);
      const shown = folders.map((folder) => folder === "." ? "this folder" : folder).join(", ");
      log(`Shows the runs in ${shown}. Open this address; Ctrl-C ends the dashboard.`);
      if (host === "127.0.0.1" || host === "localhost") {
        const there = new URL(started.url).port || "80";
        log(`From another machine: ssh -L ${there}:127.0.0.1:${there} ${Deno.hostname()}`);
      }
    }
    await end;
  } finally {
    await started.close();
  }
}

/** The usual folders below a folder, or the folder itself. @param place default: this one */
export async function usualFolders(place = "."): Promise<string[]> {
  const below = (name: string) => place === "." ? name : `${place}/${name}`;
  const here: string[] = [];
  for (const folder of USUAL.map(below)) if (await exists(folder)) here.push(folder);
  for (const folder of ALSO.map(below)) {
    if (!await exists(folder)) continue;
    const { runs, benchmarks } = await findRuns([folder]);
    if (runs.length + benchmarks.length > 0) here.push(folder);
  }
  return here.length > 0 ? here : [place];
}

/** @param given undefined: a new token is made; false: no token is needed */
function tokenOf(given: string | false | undefined): string | null {
  if (given === false) return null;
  if (given === undefined) return newToken();
  if (!/^[\w.~-]+$/.test(given) || given.length < MIN_TOKEN) {
    throw new UsageError("--token: expected at least 8 letters, digits, or - _ . ~", {
      advice: "Without this flag a good one is made.",
    });
  }
  return given;
}
