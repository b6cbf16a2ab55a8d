import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { checkMpiType } from "./submit.ts";
import { standIns } from "./testing.ts";

/** Calls `work` where srun is a program that runs these shell lines. */
async function withSrun(lines: string, work: () => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir(), before = Deno.env.get("PATH")!;
  try {
    Deno.env.set("PATH", await standIns(folder, { srun: lines }));
    await work();
  } finally {
    Deno.env.set("PATH", before);
    await Deno.remove(folder, { recursive: true });
  }
}

const refused = async (type: string, message: RegExp) => {
  await assert.rejects(() => checkMpiType(type), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(`${error.message} ${error.advice}`, message);
    return true;
  });
};

Deno.test("a cluster's own list of MPI types says which there are", async () => {
  const newer = "echo 'MPI plugin types are...'; printf '\\tnone\\n\\tpmi2\\n\\tpmix\\n'; " +
    "echo 'specific pmix plugin versions available: pmix_v4,pmix_v5'";
  const older = "for word in 'MPI types are...' none pmi2 pmix pmix_v4 pmix_v5; do " +
    'echo "srun: $word" >&2; done';
  for (const list of [newer, older]) {
    await withSrun(list, async () => {
      for (const type of ["pmix", "pmi2", "pmix_v5"]) {
        assert.deepEqual(await checkMpiType(type), []);
      }
      await refused("pmix_v3", /--mpi pmix_v3: srun has no such type here .*pmi2, pmix/);
      await refused("bogus", /--mpi bogus: srun has no such type here/);
      await refused("none", /--mpi none: starts processes that do not know of each other/);
    });
  }
});

Deno.test("away from a cluster, an unknown MPI type is a note", async () => {
  await withSrun(
    "echo 'srun: fatal: Could not establish a configuration source' >&2; exit 1",
    async () => {
      for (const type of ["pmix", "pmi2", "pmix_v4", "cray_shasta", "openmpi"]) {
        assert.deepEqual(await checkMpiType(type), []);
      }
      const [note, ...more] = await checkMpiType("pmixx");
      assert.match(
        note!,
        /--mpi pmixx is no type that rgx knows .*did you mean pmix\?; srun --mpi=list/,
      );
      assert.deepEqual(more, []);
      await refused("list", /--mpi list: only lists the types/);
    },
  );
});
