/** An environment from a user's file, which runs in a process of its own without permissions. */
import { loadCode } from "../../../core/sandbox/code_file.ts";
import { ENVIRONMENT_HOST } from "../../../core/sandbox/host_commands.ts";
import { type CallKind, SandboxCalls } from "../../../core/sandbox/sandbox_calls.ts";
import { UsageError } from "../../../core/errors.ts";
import type { Environment, EnvironmentCall, EnvironmentParts, Outcome } from "../environment.ts";

/** Calls that an environment with `net` answers at the same time. */
const CONCURRENCY_WITH_NET = 8;

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

/**
 * @param name in metrics and messages
 * @param path the file; relative to the working directory
 * @param net hosts that it may connect to
 */
export function fileEnvironment(
  name: string,
  path: string,
  net: readonly string[] = [],
): Environment {
  let calls: SandboxCalls<EnvironmentParts, EnvironmentCall, Outcome> | null = null;
  // The file is read once, so the source is the same for the whole run.
  const opened = async () => {
    if (calls !== null) return calls;
    const { url, exports } = await loadCode(path, { what: "environment" });
    if (!exports.includes("default")) {
      const found = exports.length === 0 ? "nothing" : exports.join(", ");
      throw new UsageError(
        `${path}: exports ${found}; expected export default { reset, step?, tools?, reward? }`,
      );
    }
    return calls = new SandboxCalls(KIND, path, url, net);
  };
  return {
    name,
    isSteady: net.length === 0,
    async open() {
      const process = await opened();
      await process.start();
      return process.about!;
    },
    async answer(asked, seconds) {
      const concurrency = net.length > 0 ? CONCURRENCY_WITH_NET : 1;
      return await (await opened()).run(asked, {}, { timeout: seconds, concurrency });
    },
    close: async () => await calls?.close(),
  };
}
