/**
 * `rgx doctor --tune` on a software adapter: it keeps what it finds as it goes, and goes on after a
 * kill and a driver that crashes. The driver's faults are played by a small
 * library before the Vulkan loader.
 */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { withFolder } from "../../core/testing.ts";
import { hasVulkan } from "../../kernels/devices/vulkan/testing.ts";
import { isWebgpuWanted } from "../../kernels/devices/webgpu/testing.ts";
import { argv } from "../command_line.ts";
import { rgx, rgxProgram, runs, startRgx, succeeds } from "../support.ts";
import { NEEDED, needs } from "../skipped.ts";

/**
 * Compiles a pipeline like the driver, but for the one whose number stands in the file that FAULT
 * names: there it crashes, or, after `hang`, writes its process id to FAULT.pid and waits. The file
 * is removed before, so that it happens once.
 */
const FAULTY = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdint.h>
typedef int (*create)(void *, uint64_t, uint32_t, const void *, const void *, uint64_t *);
int vkCreateComputePipelines(void *d, uint64_t c, uint32_t n, const void *i, const void *a, uint64_t *p) {
  static int number = 0;
  const char *path = getenv("FAULT");
  FILE *file = path ? fopen(path, "r") : NULL;
  int at = 0; char what[16] = "";
  if (file) { if (fscanf(file, "%d %15s", &at, what) < 1) at = 0; fclose(file); }
  if (++number == at) {
    unlink(path);
    if (strcmp(what, "hang")) abort();
    char name[4096]; snprintf(name, sizeof name, "%s.pid", path);
    FILE *out = fopen(name, "w"); fprintf(out, "%d\\n", getpid()); fclose(out);
    for (;;) pause();
  }
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
  choices: Record<string, unknown>;
  running: { class: string; candidate: string } | null;
  bad: Record<string, Record<string, string>>;
  unfinished: string[] | null;
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
  "a tuner that is killed has kept what it found, and goes on from there",
  async (folder) => {
    const RGX_VULKAN_LIB = await faultyLoader(folder), fault = `${folder}/fault`;
    const env = { RGX_CACHE: folder, RGX_VULKAN_LIB, FAULT: fault };
    // Pipeline 1: the rule's kernel is right.
    await Deno.writeTextFile(fault, "2 hang");
    const session = startRgx([...TUNE.slice(0, -1), "5"], { env });
    // The file is there before its number is, and a signal to process 0 ends the tests themselves.
    const hanging = async () => Number(await Deno.readTextFile(`${fault}.pid`).catch(() => "0"));
    await session.reaches("the fault", async () => await hanging() > 0);
    // The tuner may be behind: a candidate of a class has begun.
    const running = async () => (await keptIn(folder).catch(() => null))?.running ?? null;
    await session.reaches("a candidate", async () => await running() !== null);
    session.child.kill("SIGKILL");
    Deno.kill(await hanging(), "SIGKILL");
    await session.end;
    const before = await keptIn(folder);
    assert.deepEqual(before.choices, {});
    const name = before.running!.class;

    const { out } = await succeeds(TUNE, { env });
    const found = JSON.parse(out);
    assert.equal(found.measured, 1);
    assert.deepEqual([found.classes[0].class, found.notes], [name, []]);
    const kept = await keptIn(folder);
    assert.deepEqual([Object.keys(kept.choices), kept.running], [[name], null]);
  },
);

tuneTest(
  "a kernel that crashes the driver is noted, reported and not tried again",
  async (folder) => {
    const RGX_VULKAN_LIB = await faultyLoader(folder), fault = `${folder}/fault`;
    const env = { RGX_CACHE: folder, RGX_VULKAN_LIB, FAULT: fault };
    await Deno.writeTextFile(fault, "1");
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
