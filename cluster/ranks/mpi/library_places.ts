/** Where MPI libraries are: their names, and the folders where modules and spack put them. */
import { type Env, processEnv } from "../../../core/machine/job.ts";
import type { Abi } from "./launch.ts";

/**
 * Names with their version first: libmpi.so without one comes with development packages, and may be
 * of either kind.
 */
const NAMES: Readonly<Record<Abi, readonly string[]>> = {
  "Open MPI": ["libmpi.so.40", "libmpi.so.80", "libmpi.so"],
  MPICH: ["libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpich.so", "libmpi.so"],
};

/** Variables by which modules say where a library is installed. */
const ROOTS = [
  "MPI_HOME",
  "MPI_ROOT",
  "MPI_DIR",
  "OPAL_PREFIX",
  "OMPI_DIR",
  "OPENMPI_ROOT",
  "EBROOTOPENMPI",
  "EBROOTMPICH",
  "EBROOTIMPI",
  "I_MPI_ROOT",
  "MPICH_DIR",
  "MPICH_HOME",
  "CRAY_MPICH_DIR",
  "MVAPICH_HOME",
];

/** Folders of Linux distributions beside those that the dynamic linker searches. */
const USUAL = [
  "/usr/lib64/openmpi/lib",
  "/usr/lib64/mpich/lib",
  "/usr/lib64/mpi/gcc/openmpi4/lib64",
  "/usr/lib/x86_64-linux-gnu/openmpi/lib",
  "/usr/lib/x86_64-linux-gnu/mpich/lib",
  "/usr/local/lib",
  "/opt/openmpi/lib",
  "/opt/mpich/lib",
  "/opt/homebrew/lib",
];

export interface PlaceOptions {
  env?: Env;
  /** The resolved path of a file; null if there is none. */
  resolve?: (path: string) => string | null;
}

/**
 * What to try to open, in this order: names that the dynamic linker finds (LD_LIBRARY_PATH), the
 * libraries beside the launchers in PATH, the folders that modules name, and the usual ones.
 * @param abi the kind of library that the launcher needs; null = Open MPI first
 */
export function libraryPlaces(
  abi: Abi | null,
  { env = processEnv, resolve = realPath }: PlaceOptions = {},
): string[] {
  const names = abi === "MPICH"
    ? [...NAMES.MPICH, ...NAMES["Open MPI"]]
    : [...NAMES["Open MPI"], ...NAMES.MPICH];
  const folders: string[] = [];
  for (const bin of (env("PATH") ?? "").split(":").filter((folder) => folder !== "")) {
    for (const program of ["mpirun", "mpiexec"]) {
      const path = resolve(`${bin}/${program}`);
      // The program may be a link to the folder of its installation.
      for (const from of path === null ? [] : [`${bin}/..`, `${path}/../..`]) {
        folders.push(`${from}/lib`, `${from}/lib64`);
      }
    }
  }
  for (const name of ROOTS) {
    const root = env(name);
    if (root) folders.push(`${root}/lib`, `${root}/lib64`, `${root}/lib/release`);
  }
  const paths = [...folders, ...USUAL].flatMap((folder) => names.map((name) => `${folder}/${name}`))
    .flatMap((path) => resolve(path) ?? []);
  return [...new Set([...names, ...paths])];
}

function realPath(path: string): string | null {
  try {
    return Deno.realPathSync(path);
  } catch {
    return null;
  }
}
