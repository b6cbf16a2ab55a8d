/**
 * Permissions of Deno that a call of the library needs. Without this check, a run would end with an
 * error of the runtime when it first needs a missing permission, which may be late.
 */
import { RgxError, UsageError } from "../errors.ts";

/** Checks permissions. @param call what needs them. @throws UsageError with the missing flags */
export function requirePermissions(
  call: string,
  ...needed: readonly Deno.PermissionDescriptor[]
): void {
  const missing = needed.filter((one) => Deno.permissions.querySync(one).state !== "granted");
  if (missing.length === 0) return;
  const flags = missing.map((one) => {
    const path = "path" in one && one.path !== undefined ? `=${pathOf(one.path)}` : "";
    return `--allow-${one.name}${path}`;
  }).filter((flag, i, all) => all.indexOf(flag) === i);
  throw new UsageError(`${call} needs ${flags.join(" and ")}`, {
    advice: `Start the program with ${flags.join(" ")}, or with -A, which allows everything.`,
  });
}

/**
 * Does work that needs permissions. The permissions that it always needs are checked before it
 * begins. If another permission turns out to be missing, an error for users is thrown.
 */
export async function withPermissions<T>(
  call: string,
  needed: readonly Deno.PermissionDescriptor[],
  work: () => Promise<T>,
): Promise<T> {
  requirePermissions(call, ...needed);
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    throw new RgxError(`${call}: ${error.message}`, { cause: error });
  }
}

function pathOf(path: string | URL): string {
  return path instanceof URL ? decodeURIComponent(path.pathname) : path;
}
