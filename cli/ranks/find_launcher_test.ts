/** Which launcher is used on machines that have different ones, working and broken. */
import assert from "node:assert/strict";
import { UsageError } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import type { Abi } from "../../cluster/ranks/mpi/library.ts";
import { findLauncher } from "./start_ranks.ts";

interface Fake {
  /** What each program prints for --version; for srun the list of types. */
  programs?: Record<string, string>;
  /** The types that start a step with their variable; others fail with this text. */
  works?: string[];
  fails?: string;
  libraries?: Abi[];
  last?: string;
  inJob?: boolean;
}

/** The launcher that is found, the steps that were tried, and what is remembered. */
async function found({ programs = {}, works = [], fails = "", ...fake }: Fake) {
  const steps: string[] = [];
  let remembered: string | null = null;
  const launcher = await findLauncher({
    inJob: fake.inJob ?? true,
    hasLibrary: (abi) => (fake.libraries ?? ["Open MPI", "MPICH"]).includes(abi),
    remembered: () => Promise.resolve(fake.last ?? null),
    remember: (type) => {
      remembered = type;
      return Promise.resolve();
    },
    ask: (command, args) => {
      const text = programs[command];
      if (text === undefined) return Promise.resolve(null);
      if (args.length === 1) return Promise.resolve({ code: 0, out: "", err: text });
      const type = args[0]!.replace("--mpi=", "");
      steps.push(`${type} ${args.at(-1)}`);
      return Promise.resolve(
        works.includes(type) ? { code: 0, out: "0\n", err: "" } : { code: 1, out: "", err: fails },
      );
    },
  });
  return { launcher, steps, remembered };
}

const LIST = "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n" +
  "specific pmix plugin versions available: pmix_v4\n";

Deno.test("in a job the type of srun that works and fits a library is used, and remembered", async () => {
  const programs = { srun: LIST, mpirun: "mpirun (Open MPI) 4.1.4" };
  const first = await found({ programs, works: ["pmix", "pmi2"] });
  assert.equal(first.launcher.args[0], "--mpi=pmix");
  assert.deepEqual([first.steps, first.remembered], [["pmix PMIX_RANK"], "pmix"]);
  const broken = await found({ programs, works: ["pmix_v4", "pmi2"] });
  assert.equal(broken.launcher.args[0], "--mpi=pmix_v4");
  const last = await found({ programs, works: ["pmi2"], last: "pmi2" });
  assert.deepEqual([last.steps, last.remembered], [["pmi2 PMI_RANK"], null]);
  const mpich = await found({ programs, works: ["pmix", "pmi2"], libraries: ["MPICH"] });
  assert.equal(mpich.launcher.args[0], "--mpi=pmi2");
});

Deno.test("where no type works, mpirun starts the ranks, and a note says why", async () => {
  const programs = { srun: "\tpmi2\n\tpmix\n", "mpiexec.mpich": "HYDRA build details" };
  const fails = "srun: error: Couldn't find the specified plugin name for mpi/pmix\nmore";
  const { launcher } = await found({ programs, fails, libraries: ["Open MPI"] });
  assert.equal(launcher.name, "MPICH");
  assert.equal(
    launcher.note,
    "srun starts no MPI here, so mpiexec.mpich does (srun --mpi=pmix: Couldn't find the " +
      "specified plugin name for mpi/pmix; srun --mpi=pmi2 is for MPICH, whose library is not here)",
  );
  const { launcher: outside, steps } = await found({ programs, inJob: false });
  assert.deepEqual([outside.command, outside.note, steps], ["mpiexec.mpich", null, []]);
});

Deno.test("where nothing starts MPI, the error names what was tried", async () => {
  const refused = async (fake: Fake, message: RegExp) =>
    await assert.rejects(
      found(fake),
      refusal(message, UsageError),
    );
  await refused(
    { inJob: false },
    /^several ranks: there is no launcher of MPI \(mpirun, mpiexec\)$/,
  );
  await refused({}, /^several ranks: there is no launcher of MPI/);
  await refused({ programs: { srun: "\tnone\n" } }, /names neither pmix nor pmi2; there is no/);
  await refused(
    { programs: { srun: "\tpmix\n" } },
    /nothing here starts MPI: srun --mpi=pmix: it sets no PMIX_RANK; there is no mpirun/,
  );
});
