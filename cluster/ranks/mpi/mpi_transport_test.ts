/** Ranks by the MPI libraries of this machine, as processes of their own. */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { hasBothMpis, launch, launchers, type TestLauncher } from "./launchers_testing.ts";

const SCRIPT = new URL("mpi_ranks_testing.ts", import.meta.url).pathname;

interface Line {
  rank?: number;
  size?: number;
  found?: Record<string, unknown>;
  error?: string;
}

/** Runs a scene of the script; the lines of the ranks, by their numbers. */
async function scene(
  launcher: TestLauncher,
  name: string,
  ranks: number,
  env: Record<string, string> = {},
): Promise<{ code: number; lines: Line[] }> {
  const program = [Deno.execPath(), "run", "-A", "--no-check", SCRIPT, name];
  const { code, out } = await launch(launcher, ranks, program, env);
  const lines = out.split("\n").filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);
  return { code, lines: lines.toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0)) };
}

for (const launcher of hasBothMpis ? launchers : []) {
  Deno.test(`${launcher.name}: 3 ranks deal work, sum, and all learn of the error of one`, async () => {
    const { code, lines } = await scene(launcher, "sums", 3);
    assert.equal(code, 0);
    assert.deepEqual(lines.map(({ rank }) => rank), [0, 1, 2]);
    for (const { rank, size, found } of lines) {
      assert.equal(size, 3);
      const said = rank === 1 ? "the reward has failed" : "rank 1: the reward has failed";
      assert.deepEqual(found, {
        dealt: [0, 1, 2, 3, 4],
        first: "from 0",
        equal: true,
        total: 6,
        fast: [3, 1.5],
        failure: [said, true],
      });
    }
  });

  Deno.test(`${launcher.name}: a rank that gives up ends those that wait`, async () => {
    const { code, lines } = await scene(launcher, "abort", 2);
    assert.equal(code, 75);
    assert.deepEqual(lines.filter(({ found }) => found !== undefined), []);
  });

  Deno.test(`${launcher.name}: the other kind's library is found out and refused`, async () => {
    const other = launchers.find(({ name }) => name !== launcher.name)!;
    const { code, lines } = await scene(launcher, "sums", 2, { RGX_MPI_LIB: other.library });
    assert.notEqual(code, 0);
    assert.ok(lines.length > 0);
    for (const { error } of lines) {
      assert.match(error!, /launcher has started 2 ranks .* but each thinks it is alone/);
    }
  });
}

Deno.test({
  name: "both kinds of MPI are here, and were tested",
  ignore: needs(hasBothMpis, NEEDED.mpi),
  fn: () => assert.deepEqual(launchers.map(({ name }) => name), ["Open MPI", "MPICH"]),
});
