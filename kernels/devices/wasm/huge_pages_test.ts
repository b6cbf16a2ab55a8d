import assert from "node:assert/strict";
import { needs } from "../../../tests/skipped.ts";
import { useHugePages } from "./huge_pages.ts";

const MB = 2 ** 20;

function hugeBytes(): number {
  const found = /AnonHugePages:\s*(\d+) kB/.exec(Deno.readTextFileSync("/proc/self/smaps_rollup"));
  return 1024 * Number(found![1]);
}

/** How often Linux had no free huge page since it started. */
function refused(): number {
  return Number(/thp_fault_fallback (\d+)/.exec(Deno.readTextFileSync("/proc/vmstat"))?.[1] ?? 0);
}

/** Bytes in huge pages of 64 MB for which they were requested; null where Linux provides none. */
function bytesInHugePages(): number | null {
  const { buffer } = new WebAssembly.Memory({ initial: 1024, maximum: 65536, shared: true });
  const isOff = () =>
    Deno.readTextFileSync("/sys/kernel/mm/transparent_hugepage/enabled").includes("[never]");
  if (!useHugePages(buffer, 0, 64 * MB) || isOff()) return null;
  const before = hugeBytes(), refusedBefore = refused();
  new Uint8Array(buffer).fill(1);
  const found = hugeBytes() - before;
  // When the memory of the machine is fragmented, Linux has no free huge pages.
  return found < 32 * MB && refused() > refusedBefore ? null : found;
}

const found = bytesInHugePages();

Deno.test({
  name: "memory has pages of 2 MB if Linux provides them",
  ignore: needs(found !== null, "Linux has no free pages of 2 MB"),
  fn: () => assert.ok(found! >= 32 * MB, `${found} bytes of 64 MB`),
});

Deno.test("nothing is requested for an empty range", () => {
  assert.equal(useHugePages(new SharedArrayBuffer(8), 8, 8), false);
});

Deno.test({
  name: "without the permission ffi nothing is requested, not even the permission",
  permissions: { ffi: false },
  fn: () => assert.equal(useHugePages(new SharedArrayBuffer(MB), 0, MB), false),
});
