import assert from "node:assert/strict";
import { namesIn, test } from "./testing.ts";
import {
  appendLine,
  type BytePieces,
  type FileContent,
  type FileWriter,
  produceFileAtomic,
  removeLeftovers,
  replaceSymlink,
  writeFileAtomic,
  writeFilesAtomic,
  writeFlushed,
  writeFolderAtomic,
} from "./atomic_file.ts";
import { verifySums } from "./checksums.ts";
import { RgxError } from "./errors.ts";
import { NEEDED, needs } from "../tests/skipped.ts";
import { hasSmallDisk, withSmallDisk } from "../tests/small_disk.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

async function* halfOf(pieces: BytePieces): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) return yield piece.subarray(0, piece.length >> 1);
}

/** A writer that writes half of the n-th file and then fails like the kernel on a full disk. */
function fullDiskAt(n: number): FileWriter {
  let written = 0;
  return async (path, pieces) => {
    if (++written < n) return await writeFlushed(path, pieces);
    await writeFlushed(path, halfOf(pieces));
    await writeFlushed("/dev/full", [new Uint8Array(10)]);
  };
}

/** Content of which half is written before the system's error. */
const failing = (code: string): FileContent =>
  async function* () {
    yield await Promise.resolve(bytes("ot"));
    throw Object.assign(new Error(code), { code });
  };

const hasDevFull = Deno.build.os === "linux";

function isDiskFull(path: string): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof RgxError);
    assert.ok(error.message.startsWith(path), error.message);
    assert.match(error.message, /the disk is full/);
    assert.match(error.advice!, /Free some space/);
    return true;
  };
}

test.inFolder("errors for a missing folder and a too long name show the requested path", async (folder) => {
  await Deno.writeTextFile(`${folder}/file`, "");
  const refused = (path: string, message: string) => {
    const check = (error: RgxError) => {
      assert.ok(error instanceof RgxError && error.advice !== undefined);
      assert.equal(error.message, `${path}: cannot write the file: ${message}`);
      return true;
    };
    return Promise.all([
      assert.rejects(writeFileAtomic(path, "x"), check),
      assert.rejects(produceFileAtomic(path, (to) => Deno.writeTextFile(to, "x")), check),
    ]);
  };
  await refused(`${folder}/none/f`, `there is no folder ${folder}/none`);
  await refused(`${folder}/file/f`, `there is no folder ${folder}/file`);
  await refused(`${folder}/${"x".repeat(300)}`, "the name is too long");
  // A missing file that is read inside `produce` is another error.
  await assert.rejects(
    produceFileAtomic(`${folder}/f`, () => Deno.readTextFile(`${folder}/none`).then(() => {})),
    Deno.errors.NotFound,
  );
});

test.inFolder("a file is created and replaced, and no other file remains", async (folder) => {
  await writeFileAtomic(`${folder}/f`, "one");
  await writeFileAtomic(`${folder}/f`, bytes("two"));
  assert.equal(await Deno.readTextFile(`${folder}/f`), "two");
  assert.deepEqual(namesIn(folder), ["f"]);
});

test.inFolder("of several files all are replaced, or none", async (folder) => {
  const files = (text: string) => new Map(["a", "b"].map((name) => [`${folder}/${name}`, text]));
  const texts = () => ["a", "b"].map((name) => Deno.readTextFileSync(`${folder}/${name}`));
  await writeFilesAtomic(files("one"));
  for (const name of ["a", "b"]) {
    const full = new Map<string, FileContent | string>(files("other"))
      .set(`${folder}/${name}`, failing("ENOSPC"));
    await assert.rejects(writeFilesAtomic(full), isDiskFull(`${folder}/${name}`));
    assert.deepEqual(texts(), ["one", "one"]);
    assert.deepEqual(namesIn(folder), ["a", "b"]);
  }
  await writeFilesAtomic(files("two"));
  assert.deepEqual(texts(), ["two", "two"]);
});

test.inFolder("content is made while it is written, and nothing remains if that fails", async (root) => {
  const folder = `${root}/made`, made: number[] = [];
  const content = (last: number) =>
    async function* () {
      for (let i = 0; i <= 9; i++) {
        await Promise.resolve();
        if (i > last) throw new RgxError("the device is gone");
        made.push((await Deno.stat(`${folder}.tmp-${Deno.pid}/b`)).size);
        yield bytes(String(i));
      }
    };
  const files = (last: number) =>
    new Map<string, FileContent>([["a", bytes("x")], ["b", content(last)]]);
  await writeFolderAtomic(folder, files(9));
  assert.deepEqual(made, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(await Deno.readTextFile(`${folder}/b`), "0123456789");
  assert.equal(await verifySums(folder), null);
  await assert.rejects(writeFolderAtomic(folder, files(4)), /the device is gone/);
  await assert.rejects(writeFolderAtomic(`${root}/other`, files(4)));
  assert.deepEqual(namesIn(root), ["made"]);
  assert.equal(await verifySums(folder), null);
});

test.inFolder("a folder is written with its checksums, and replaced as a whole", async (root) => {
  const target = `${root}/not/yet/there`;
  await writeFolderAtomic(target, new Map([["a", bytes("1")], ["b", bytes("2")]]));
  assert.deepEqual(namesIn(target), ["SHA256SUMS", "a", "b"]);
  assert.equal(await verifySums(target), null);
  await writeFolderAtomic(target, new Map([["c", bytes("3")]]));
  assert.deepEqual(namesIn(target), ["SHA256SUMS", "c"]);
  assert.equal(await verifySums(target), null);
  assert.deepEqual(namesIn(`${root}/not/yet`), ["there"]);
  await assert.rejects(writeFolderAtomic(target, new Map([["x/y", bytes("")]])), RangeError);
  assert.equal(await verifySums(target), null);
});

test.inFolder(
  "a full disk at any file leaves the old folder and nothing incomplete",
  async (root) => {
    const target = `${root}/t`;
    const files = new Map([["a", bytes("11")], ["b", bytes("22")]]);
    for (const n of [1, 2, 3]) {
      await assert.rejects(
        writeFolderAtomic(target, files, { write: fullDiskAt(n) }),
        isDiskFull(target),
      );
      assert.deepEqual(namesIn(root), []);
    }
    await writeFolderAtomic(target, files);
    const other = new Map([["a", bytes("other")]]);
    for (const n of [1, 2]) {
      await assert.rejects(
        writeFolderAtomic(target, other, { write: fullDiskAt(n) }),
        isDiskFull(target),
      );
      assert.deepEqual(namesIn(root), ["t"]);
      assert.equal(await verifySums(target), null);
      assert.equal(await Deno.readTextFile(`${target}/a`), "11");
    }
  },
  needs(hasDevFull, NEEDED.system),
);

Deno.test({
  name: "a real full file system is explained",
  ignore: needs(hasSmallDisk, NEEDED.smallDisk),
  fn: () =>
    withSmallDisk("64k", async (mount) => {
      const target = `${mount}/t`;
      await writeFolderAtomic(target, new Map([["a", bytes("1")]]));
      const large = new Map([["a", bytes("2")], ["b", new Uint8Array(200_000)]]);
      await assert.rejects(writeFolderAtomic(target, large), isDiskFull(target));
      assert.deepEqual(namesIn(mount), ["t"]);
      assert.equal(await verifySums(target), null);
      await Deno.writeTextFile(`${mount}/log`, "line\n");
      await assert.rejects(
        appendLine(`${mount}/log`, "x".repeat(100_000)),
        isDiskFull(`${mount}/log`),
      );
      assert.equal(await Deno.readTextFile(`${mount}/log`), "line\n");
    }),
});

test.inFolder("errors explain missing permissions and impossible paths", async (folder) => {
  await assert.rejects(
    writeFileAtomic(`${folder}/f`, failing("EACCES")),
    /cannot write the file: permission denied/,
  );
  await Deno.mkdir(`${folder}/d`);
  await assert.rejects(
    writeFileAtomic(`${folder}/d`, ""),
    /\/d: cannot write the file: a folder of this name is there/,
  );
});

test.inFolder("leftovers of dead processes are removed, those of live ones are kept", async (folder) => {
  const dead = await deadPid();
  await Deno.mkdir(`${folder}/checkpoint-5.tmp-${dead}`);
  await Deno.writeTextFile(`${folder}/checkpoint-5.tmp-${dead}/half`, "x");
  await Deno.writeTextFile(`${folder}/config.yaml.tmp-${dead}`, "x");
  await Deno.mkdir(`${folder}/checkpoint-6.tmp-1`);
  // Killed between the two renames of a replacement: the old version is renamed back.
  await Deno.mkdir(`${folder}/checkpoint-3.old-${dead}`);
  await Deno.writeTextFile(`${folder}/checkpoint-3.old-${dead}/file`, "old");
  // Killed after both renames: the old version is removed.
  await Deno.mkdir(`${folder}/checkpoint-4`);
  await Deno.mkdir(`${folder}/checkpoint-4.old-${dead}`);
  assert.equal((await removeLeftovers(folder)).length, 4);
  assert.deepEqual(namesIn(folder), ["checkpoint-3", "checkpoint-4", "checkpoint-6.tmp-1"]);
  assert.equal(await Deno.readTextFile(`${folder}/checkpoint-3/file`), "old");
  assert.deepEqual(await removeLeftovers(folder), []);
});

async function deadPid(): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" }).spawn();
  await child.status;
  return child.pid;
}

test.inFolder("a link is changed and exists at every moment", async (folder) => {
  await replaceSymlink(`${folder}/latest`, "checkpoint-1");
  await replaceSymlink(`${folder}/latest`, "checkpoint-2");
  assert.equal(await Deno.readLink(`${folder}/latest`), "checkpoint-2");
  assert.deepEqual(namesIn(folder), ["latest"]);
});

test.inFolder("lines are appended, and the new length is returned", async (folder) => {
  const path = `${folder}/log`;
  assert.equal(await appendLine(path, "é"), 3);
  assert.equal(await appendLine(path, "two", { sync: true }), 7);
  assert.equal(await Deno.readTextFile(path), "é\ntwo\n");
});

test.inFolder("a device is written to and not replaced by a file", async (folder) => {
  await Deno.symlink("/dev/null", `${folder}/null`);
  await writeFileAtomic(`${folder}/null`, "text");
  assert.equal(await Deno.readLink(`${folder}/null`), "/dev/null");
  assert.deepEqual(namesIn(folder), ["null"]);
}, needs(Deno.build.os !== "windows", NEEDED.system));
