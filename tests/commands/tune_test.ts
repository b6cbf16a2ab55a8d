/**
 * `rgx doctor --tune` on a software adapter with a driver that crashes, which a small library
 * before the Vulkan loader plays. `kernels/tuning/tuner_test.ts` has all other faults.
 */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { withFolder } from "../../core/testing.ts";
import { hasVulkan } from "../../kernels/devices/vulkan/testing.ts";
import { isWebgpuWanted } from "../../kernels/devices/webgpu/testing.ts";
import { argv } from "../command_line.ts";
import { rgx, rgxProgram, runs } from "../support.ts";
import { NEEDED, needs } from "../skipped.ts";

/**
 * Compiles a pipeline like the driver, but crashes at the first one while there is the file that
 * FAULT names. The file is removed before, so that it happens once.
 */
const FAULTY = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include <stdint.h>
typedef int (*create)(void *, uint64_t, uint32_t, const void *, const void *, uint64_t *);
int vkCreateComputePipelines(void *d, uint64_t c, uint32_t n, const void *i, const void *a, uint64_t *p) {
  const char *path = getenv("FAULT");
  if (path && unlink(path) == 0) abort();
  return ((create) dlsym(RTLD_NEXT, "vkCreateComputePipelines"))(d, c, n, i, a, p);
}`;

/** Compiles the library into a folder; null without a C compiler. */
async function faultyLoader(folder: string): Promise<string> {
  const source = `${folder}/faulty.c`, library = `${folder}/faulty.so`;
  await Deno.writeTextFile(source, FAULTY);
  await runs(argv`cc -shared -fPIC -o ${library} ${source} -Wl,--no-as-needed -l:libvulkan.so.1
    -ldl`);
  return library;
}

const hasCompiler = (await runCommand(["cc", "--version"]))?.success === true;
/** So little time is for one candidate: a software adapter takes a second for each. */
const TUNE = ["doctor", "--tune", "--device", "vulkan", "--json", "--minutes", "0.0001"];

interface Kept {
  bad: Record<string, Record<string, string>>;
}

async function keptIn(cache: string): Promise<Kept> {
  const [folder] = [...Deno.readDirSync(`${cache}/kernels`)];
  return JSON.parse(await Deno.readTextFile(`${cache}/kernels/${folder!.name}/choices.json`));
}

function tuneTest(name: string, body: (folder: string) => Promise<void>): void {
  if (!isWebgpuWanted) return;
  const ignore = needs(hasVulkan, NEEDED.vulkan) ||
    needs(Deno.build.os === "linux" && hasCompiler, NEEDED.system);
  Deno.test({ name, ignore, fn: () => withFolder(body) });
}

tuneTest(
  "a kernel that crashes the driver is noted, reported and not tried again",
  async (folder) => {
    const RGX_VULKAN_LIB = await faultyLoader(folder), fault = `${folder}/fault`;
    const env = { RGX_CACHE: folder, RGX_VULKAN_LIB, FAULT: fault };
    await Deno.writeTextFile(fault, "");
    const { code, out, err } = await rgx(TUNE, { env });
    assert.equal(code, 1, err);
    const found = JSON.parse(out);
    assert.match(found.notes.join(), /the kernel ".*" is not used on this card: .*SIGABRT/);
    const kept = await keptIn(folder);
    assert.deepEqual(kept.bad, found.bad);
    assert.equal(Object.keys(kept.bad).length, 1);
  },
);

tuneTest("without the permission for FFI, --device vulkan says what to permit", async () => {
  const command = rgxProgram(TUNE).toSpliced(2, 0, "--deny-ffi");
  const { code, err } = (await runCommand(command, { env: { NO_COLOR: "1" } }))!;
  assert.equal(code, 2, err);
  assert.match(err, /the device vulkan calls the Vulkan loader, which is not permitted/);
  assert.match(err, /--allow-ffi .* or use --device webgpu/);
});
