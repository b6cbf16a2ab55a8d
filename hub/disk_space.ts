/** How much a file system still takes. */
import { statfs } from "node:fs/promises";

/** Bytes free for this user where `folder` is (or will be); null where nobody says it. */
export async function freeBytes(folder: string): Promise<number | null> {
  for (let path = folder;; path = path.slice(0, path.lastIndexOf("/"))) {
    try {
      const { bavail, bsize } = await statfs(path === "" ? "." : path);
      return bavail * bsize;
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT" || !path.includes("/")) return null;
    }
  }
}

/** "1.5 GB", in powers of 1000 as disks are sold and as the Hub shows them. */
export function byteText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0, value = bytes;
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  const digits = unit === 0 || value >= 999.5 ? String(Math.round(value)) : value.toPrecision(3);
  return `${digits} ${units[unit]}`;
}
