import assert from "node:assert/strict";
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

Deno.test("memory has pages of 2 MB if Linux provides them", () => {
  const { buffer } = new WebAssembly.Memory({ initial: 1024, maximum: 65536, shared: true });
  const agreed = useHugePages(buffer, 0, 64 * MB);
  if (
    !agreed ||
    Deno.readTextFileSync("/sys/kernel/mm/transparent_hugepage/enabled").includes("[never]")
  ) {
    console.warn("skipped: this system gives no pages of 2 MB");
    return;
  }
  const before = hugeBytes(), refusedBefore = refused();
  new Uint8Array(buffer).fill(1);
  const found = hugeBytes() - before;
  if (found < 32 * MB && refused() > refusedBefore) {
    console.warn("skipped: this machine's memory is in pieces");
    return;
  }
  assert.ok(found >= 32 * MB, `${found} bytes of 64 MB`);
});

Deno.test("nothing is requested for an empty range", () => {
  assert.equal(useHugePages(new SharedArrayBuffer(8), 8, 8), false);
});

Deno.test({
  name: "without the permission ffi nothing is requested, not even the permission",
  permissions: { ffi: false },
  fn: () => assert.equal(useHugePages(new SharedArrayBuffer(MB), 0, MB), false),
});
