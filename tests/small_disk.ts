/** For tests only: a small file system in memory, for tests of full and read-only disks. */
import { runCommand } from "../core/machine/run_command.ts";
import { withFolder } from "../core/testing.ts";

const succeeds = async (...command: string[]): Promise<boolean> =>
  (await runCommand(command))?.success === true;

const mount = (path: string, size: string): Promise<boolean> =>
  succeeds("mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path);

/** Whether this user may mount file systems (Linux, root). */
async function canMount(): Promise<boolean> {
  const path = await Deno.makeTempDir();
  try {
    return await mount(path, "64k") && await succeeds("umount", path);
  } finally {
    await Deno.remove(path);
  }
}

export const hasSmallDisk: boolean = await canMount();

/**
 * Calls `work` with the path of a new file system, which is removed afterwards.
 * @param size in the notation of `mount`: `64k`, `4m`
 * @param work may call `remount` to change the options of the file system (`size=20m`, `ro`)
 */
export async function withSmallDisk(
  size: string,
  work: (path: string, remount: (options: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  await withFolder(async (path) => {
    if (!await mount(path, size)) throw new Error(`${path}: mount failed`);
    const remount = async (options: string) => {
      const done = await succeeds("mount", "-o", `remount,${options}`, path);
      if (!done) throw new Error(`${path}: mount -o remount,${options} failed`);
    };
    try {
      await work(path, remount);
    } finally {
      await succeeds("umount", path);
    }
  });
}
