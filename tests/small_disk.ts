/** For tests only: a small file system in memory, for tests of full and read-only disks. */
import { withFolder } from "../core/testing.ts";

function run(command: string, ...args: string[]): Promise<{ success: boolean }> {
  return new Deno.Command(command, { args, stderr: "null" }).output()
    .catch(() => ({ success: false }));
}

function mount(path: string, size: string): Promise<{ success: boolean }> {
  return run("mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path);
}

/** Whether this user may mount file systems (Linux, root). */
async function canMount(): Promise<boolean> {
  const path = await Deno.makeTempDir();
  try {
    const { success } = await mount(path, "64k");
    if (success) await run("umount", path);
    return success;
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
    if (!(await mount(path, size)).success) throw new Error(`${path}: mount failed`);
    const remount = async (options: string) => {
      const { success } = await run("mount", "-o", `remount,${options}`, path);
      if (!success) throw new Error(`${path}: mount -o remount,${options} failed`);
    };
    try {
      await work(path, remount);
    } finally {
      await run("umount", path);
    }
  });
}
