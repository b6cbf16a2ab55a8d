/** The sizes of the processor's caches. */

/** Bytes of the second-level cache of a core; null = unknown. @param root for tests */
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
