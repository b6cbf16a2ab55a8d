/** Which launcher started a process, and launches that cannot work. */
import assert from "node:assert/strict";
import { UsageError } from "../../../core/errors.ts";
import { findLibrary, launchOf, libraryPlaces, mismatch } from "./library.ts";

const launch = (variables: Record<string, string>) => launchOf((name) => variables[name]);
const step = { SLURM_JOB_ID: "7", SLURM_STEP_ID: "0", SLURM_STEP_NUM_TASKS: "4" };

Deno.test("each launcher is known by its variables, and needs its own library", () => {
  assert.deepEqual(launch({ OMPI_COMM_WORLD_SIZE: "4", OMPI_COMM_WORLD_RANK: "3" }), {
    size: 4,
    rank: 3,
    from: "OMPI_COMM_WORLD_SIZE",
    abi: "Open MPI",
  });
  assert.equal(launch({ PMI_SIZE: "2", PMI_RANK: "0" })?.abi, "MPICH");
  assert.deepEqual(launch({ ...step, SLURM_PROCID: "2", PMIX_RANK: "2" }), {
    size: 4,
    rank: 2,
    from: "SLURM_STEP_NUM_TASKS",
    abi: "Open MPI",
  });
  // srun --mpi=pmi2
  assert.equal(launch({ ...step, SLURM_PROCID: "2", PMI_SIZE: "4", PMI_RANK: "2" })?.abi, "MPICH");
});

Deno.test("one process is no launch, nor is a batch script of several tasks", () => {
  assert.equal(launch({}), null);
  assert.equal(launch({ OMPI_COMM_WORLD_SIZE: "1", OMPI_COMM_WORLD_RANK: "0" }), null);
  assert.equal(launch({ SLURM_JOB_ID: "7", SLURM_NTASKS: "4", SLURM_PROCID: "0" }), null);
  assert.equal(launch({ ...step, SLURM_STEP_NUM_TASKS: "1", SLURM_PROCID: "0" }), null);
  assert.equal(launch({ WORLD_SIZE: "1", RANK: "0" }), null);
});

Deno.test("within a step of srun, mpirun's ranks count", () => {
  const started = launch({
    ...step,
    SLURM_STEP_NUM_TASKS: "2",
    SLURM_PROCID: "1",
    OMPI_COMM_WORLD_SIZE: "8",
    OMPI_COMM_WORLD_RANK: "5",
  });
  assert.deepEqual([started?.size, started?.rank], [8, 5]);
});

Deno.test("variables of two launchers are refused, and both are named", () => {
  const both = {
    OMPI_COMM_WORLD_SIZE: "2",
    OMPI_COMM_WORLD_RANK: "0",
    PMI_SIZE: "4",
    PMI_RANK: "0",
  };
  assert.throws(() => launch(both), /two launchers.*OMPI_COMM_WORLD_SIZE=2.*PMI_SIZE=4/);
});

Deno.test("srun without MPI and torchrun are refused with what to type", () => {
  assert.throws(
    () => launch({ ...step, SLURM_PROCID: "1" }),
    (error) => error instanceof UsageError && /--mpi=pmix/.test(error.advice!),
  );
  assert.throws(() => launch({ WORLD_SIZE: "8", RANK: "1" }), /torchrun/);
});

Deno.test("libraries are looked for beside the launcher and where modules put them", () => {
  const files = new Map([
    ["/spack/openmpi/bin/mpirun", "/spack/openmpi-5/bin/mpirun"],
    ["/spack/openmpi-5/bin/mpirun/../../lib/libmpi.so.40", "/spack/openmpi-5/lib/libmpi.so.40"],
    ["/sw/impi/lib/release/libmpi.so.12", "/sw/impi/lib/release/libmpi.so.12"],
  ]);
  const places = libraryPlaces("Open MPI", {
    env: (name) => ({ PATH: "/bin:/spack/openmpi/bin", I_MPI_ROOT: "/sw/impi" })[name],
    resolve: (path) => files.get(path) ?? null,
  });
  assert.equal(places[0], "libmpi.so.40", "what the dynamic linker finds comes first");
  assert.ok(places.includes("/spack/openmpi-5/lib/libmpi.so.40"));
  assert.ok(places.includes("/sw/impi/lib/release/libmpi.so.12"));
  assert.equal(libraryPlaces("MPICH", { env: () => "" })[0], "libmpich.so.12");
});

Deno.test("a file that is no MPI library is refused by its name", () => {
  assert.throws(
    () => findLibrary(null, (name) => name === "RGX_MPI_LIB" ? "/etc/hostname" : undefined),
    /RGX_MPI_LIB: \/etc\/hostname is no MPI library/,
  );
});

Deno.test("a library of the other kind is refused with the launcher that it needs", () => {
  const started = { size: 2, rank: 0, from: "PMI_SIZE", abi: "MPICH" } as const;
  const openMpi = { path: "libmpi.so.40", abi: "Open MPI", version: "Open MPI v4.1.4" } as const;
  const other = mismatch(started, openMpi, "only");
  assert.match(other.message, /2 ranks \(PMI_SIZE\), but each thinks it is alone: only Open MPI/);
  assert.match(other.advice!, /libmpich\.so\.12/);
  // The right library, and variables of a launcher that is not there.
  const same = mismatch({ ...started, abi: "Open MPI" }, openMpi, "the library");
  assert.match(same.advice!, /left over from another start \(unset PMI_SIZE\)/);
});
