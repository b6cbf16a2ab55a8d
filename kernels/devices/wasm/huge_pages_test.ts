import assert from "node:assert/strict";
import { useHugePages } from "./huge_pages.ts";

const MB = 2 ** 20;

function hugeBytes(): number {
  const found = /AnonHugePages:\s*(\d+) kB/.exec(Deno.readTextFileSync("/proc/self/smaps_rollup"));
  return 1024 * Number(found![1]);
}

/** How often Linux had no large page to give, since it began. */
function refused(): number {
  return Number(/thp_fault_fallback (\d+)/.exec(Deno.readTextFileSync("/proc/vmstat"))?.[1] ?? 0);
}

Deno.test("memory that is asked for has pages of 2 MB, where Linux gives them", () => {
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

Deno.test("nothing is asked of no memory", () => {
  assert.equal(useHugePages(new SharedArrayBuffer(8), 8, 8), false);
});

Deno.test({
  name: "without the permission nothing is asked for, not even the permission",
  permissions: { ffi: false },
  fn: () => assert.equal(useHugePages(new SharedArrayBuffer(MB), 0, MB), false),
});
