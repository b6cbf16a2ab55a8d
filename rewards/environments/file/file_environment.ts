/** An environment from a user's file, which runs in a process of its own without permissions. */
import { loadCode } from "../../../core/sandbox/code_file.ts";
import { ENVIRONMENT_HOST } from "../../../core/sandbox/host_commands.ts";
import { type CallKind, SandboxCalls } from "../../../core/sandbox/sandbox_calls.ts";
import { UsageError } from "../../../core/errors.ts";
import type { Environment, EnvironmentCall, EnvironmentParts, Outcome } from "../environment.ts";

/** Calls of a process under way at the same time: all but one of them wait for something. */
const CONCURRENCY = 256;

const KIND: CallKind<EnvironmentParts, Outcome> = {
  host: {
    module: new URL("./host.ts", import.meta.url),
    reads: ["../../", "../../../core/"].map((folder) => new URL(folder, import.meta.url)),
    command: ENVIRONMENT_HOST,
  },
  what: "environment",
  gives: "answer",
  failed: (error, late) => ({ error, late }),
  isTogether: () => false,
};

/** @param net hosts that it may connect to */
export function fileEnvironment(
  name: string,
  path: string,
  net: readonly string[] = [],
): Environment {
  type Calls = SandboxCalls<EnvironmentParts, EnvironmentCall, Outcome>;
  // By their limits of time: a process is ended when it is silent for longer.
  const processes = new Map<number, Calls>();
  let loading: Promise<string> | null = null;
  // The file is read once, so the source is the same for the whole run.
  const load = async () => {
    const { url, exports } = await loadCode(path, { what: "environment" });
    if (!exports.includes("default")) {
      const found = exports.length === 0 ? "nothing" : exports.join(", ");
      throw new UsageError(
        `${path}: exports ${found}; expected export default { reset, step?, tools?, reward? }`,
      );
    }
    return url;
  };
  const source = () => loading ??= load();
  const processFor = async (seconds: number) => {
    const url = await source();
    const calls: Calls = processes.get(seconds) ?? new SandboxCalls(KIND, path, url, net);
    processes.set(seconds, calls);
    return calls;
  };
  return {
    name,
    isSteady: net.length === 0,
    async open() {
      const process: Calls = new SandboxCalls(KIND, path, await source(), net);
      try {
        await process.start();
        return process.about!;
      } finally {
        await process.close();
      }
    },
    async answer(asked, seconds) {
      const process = await processFor(seconds);
      const limits = { timeout: seconds, concurrency: CONCURRENCY };
      return await Promise.all(asked.map((call) => process.call(call, limits)));
    },
    async close() {
      await Promise.all([...processes.values()].map((process) => process.close()));
    },
  };
}
