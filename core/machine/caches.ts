/** The sizes of the processor's caches. */

/**
 * Bytes of the second-level cache, which belongs to one core; null where the system does not say,
 * as on other systems than Linux.
 * @param root folder of the system's files (for tests)
 */
export function coreCacheBytes(root = ""): number | null {
  let text;
  try {
    text = Deno.readTextFileSync(`${root}/sys/devices/system/cpu/cpu0/cache/index2/size`);
  } catch {
    return null;
  }
  const kilobytes = text.match(/^(\d+)K\s*$/);
  return kilobytes === null ? null : 1024 * Number(kilobytes[1]);
}
