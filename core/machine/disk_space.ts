/** Free space of a file system. */
import { statfs } from "node:fs/promises";

/** Bytes that are free where `folder` is or will be; null = unknown. It asks for no permission. */
export async function freeBytes(folder: string): Promise<number | null> {
  const permission = await Deno.permissions.query({ name: "sys", kind: "statfs" });
  if (permission.state !== "granted") return null;
  for (let path = folder;; path = path.slice(0, path.lastIndexOf("/"))) {
    try {
      const { bavail, bsize } = await statfs(path === "" ? "." : path);
      return bavail * bsize;
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT" || !path.includes("/")) return null;
    }
  }
}
