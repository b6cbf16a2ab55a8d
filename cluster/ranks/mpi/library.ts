/**
 * Finds and opens the MPI library through Deno's FFI. Open MPI and the family of MPICH (Intel MPI,
 * MVAPICH, Cray MPICH) have different binary interfaces: for the one, handles are addresses of
 * global objects, for the other, integers. The library says which of them it is. Also finds the
 * launcher that has started this process: each sets variables of its own. With a library that does
 * not understand them, every process is rank 0 of 1, without an error.
 */
import { messageOf, type RgxError, UsageError } from "../../../core/errors.ts";
import {
  type Env,
  launcherLayouts,
  processEnv,
  type ProcessLayout,
} from "../../../core/machine/job.ts";

/** Bytes that MPI_Get_library_version and MPI_Error_string may write (MPICH's maximum). */
export const TEXT_BYTES = 8192;

const VERSION = {
  MPI_Get_library_version: { parameters: ["buffer", "buffer"], result: "i32" },
} as const;

export interface FoundLibrary {
  /** The argument of dlopen: a path, or a name for the dynamic linker. */
  path: string;
  abi: Abi;
  /** The name and version of the library: "Open MPI v4.1.4". */
  version: string;
}

/** Opens a library and asks for its version, which is allowed before MPI_Init. */
function examine(path: string): FoundLibrary {
  const library = Deno.dlopen(path, VERSION);
  const text = new Uint8Array(TEXT_BYTES), length = new Int32Array(1);
  library.symbols.MPI_Get_library_version(text, length);
  const version = new TextDecoder().decode(text.subarray(0, length[0])).split(/[\0\n]/)[0]!.trim();
  // "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2"
  const name = version.split(",")[0]!.replace(/Version:\s*/i, "").replace(/\s+/g, " ");
  return { path, abi: /Open MPI/i.test(version) ? "Open MPI" : "MPICH", version: name };
}

const NONE_ADVICE = "Debian and Ubuntu: apt-get install openmpi-bin libopenmpi3 (or mpich); Red " +
  "Hat: dnf install openmpi; clusters: module load openmpi (module avail mpi lists them); spack " +
  "load openmpi. RGX_MPI_LIB=/path/to/libmpi.so.40 names a library that is elsewhere.";

/**
 * The library that fits the launcher; without a launcher, any library.
 * @throws UsageError when there is none, or RGX_MPI_LIB cannot be used
 */
export function findLibrary(launch: Launch | null, env: Env = processEnv): FoundLibrary {
  const named = env("RGX_MPI_LIB");
  if (named) {
    try {
      return examine(named);
    } catch (error) {
      const why = messageOf(error).replace(/^(Could not open library: )+/, "");
      throw new UsageError(`RGX_MPI_LIB: ${named} is no MPI library: ${why}`, {
        advice: "Name the file itself, as /usr/lib/x86_64-linux-gnu/libmpi.so.40.",
      });
    }
  }
  const abi = launch?.abi ?? null;
  let other: FoundLibrary | null = null;
  for (const place of libraryPlaces(abi, { env })) {
    let found: FoundLibrary;
    try {
      found = examine(place);
    } catch {
      continue; // not there, or for another processor
    }
    if (abi === null || found.abi === abi) return found;
    other ??= found;
  }
  if (other === null) throw new UsageError("no MPI library was found", { advice: NONE_ADVICE });
  throw mismatch(launch!, other, "only");
}

export function hasLibrary(abi: Abi): boolean {
  try {
    return findLibrary({ size: 2, rank: 0, from: "", abi }).abi === abi;
  } catch {
    return false;
  }
}

/** The error for a launcher and a library that do not understand each other. */
export function mismatch(
  { size, from, abi }: Launch,
  found: FoundLibrary,
  which: "only" | "the library",
): RgxError {
  const library = which === "only"
    ? `only ${found.version} was found (${found.path})`
    : `the library is ${found.version} (${found.path})`;
  const leftOver = `Its variables may be left over from another start (unset ${from}), or this ` +
    "library is of another version than the launcher.";
  const needed = abi === "MPICH"
    ? "The launcher is MPICH's (mpiexec.mpich, srun --mpi=pmi2). Install or load MPICH, or " +
      "name its library: RGX_MPI_LIB=/path/to/libmpich.so.12. With Open MPI's library use " +
      "Open MPI's mpirun or srun --mpi=pmix."
    : "The launcher is Open MPI's (mpirun, srun --mpi=pmix). Install or load Open MPI, or " +
      "name its library: RGX_MPI_LIB=/path/to/libmpi.so.40. With MPICH's library use " +
      "mpiexec.mpich or srun --mpi=pmi2.";
  return new UsageError(
    `the launcher has started ${size} ranks (${from}), but each thinks it is alone: ${library}`,
    { advice: found.abi === abi ? leftOver : needed },
  );
}

/**
 * Names with a version come first: libmpi.so without a version is from a development package, and
 * may be of either kind.
 */
const NAMES: Readonly<Record<Abi, readonly string[]>> = {
  "Open MPI": ["libmpi.so.40", "libmpi.so.80", "libmpi.so"],
  MPICH: ["libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpich.so", "libmpi.so"],
};

/** Variables in which environment modules put the folder of a library. */
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

interface PlaceOptions {
  env?: Env;
  resolve?: (path: string) => string | null;
}

/**
 * The places to try, in this order: names that the dynamic linker finds (LD_LIBRARY_PATH), the
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

export type Abi = "Open MPI" | "MPICH";

export interface Launch extends ProcessLayout {
  /** The libraries that understand this launcher; null = unknown. */
  abi: Abi | null;
}

/**
 * The launch of this process as one of several ranks, or null when it was started alone.
 * @throws UsageError for variables of two launchers, and for a launcher without MPI
 */
export function launchOf(env: Env = processEnv): Launch | null {
  const layouts = launcherLayouts(env);
  const read = (name: string, abi: Abi | null = null): Launch | null => {
    const found = layouts.find(({ from }) => from === name);
    return found === undefined ? null : { ...found, abi };
  };
  const openMpi = read("OMPI_COMM_WORLD_SIZE", "Open MPI"), mpich = read("PMI_SIZE", "MPICH");
  if (openMpi !== null && mpich !== null) throw twoLaunchers(openMpi, mpich);
  const started = openMpi ?? mpich;
  if (started !== null) return started.size > 1 ? started : null;
  // srun. It comes last, because within its step the launchers above may start ranks of their own.
  const step = read("SLURM_STEP_NUM_TASKS");
  if (step !== null && step.size > 1) {
    if (/^[0-9]{1,9}$/.test((env("PMIX_RANK") ?? "").trim())) return { ...step, abi: "Open MPI" };
    throw new UsageError(
      `srun has started ${step.size} processes without MPI: each would be alone`,
      {
        advice: "Start them with srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH, Intel " +
          "MPI); srun --mpi=list shows what this cluster has. One process: srun --ntasks=1.",
      },
    );
  }
  const torch = read("WORLD_SIZE");
  if (torch !== null && torch.size > 1) {
    throw new UsageError(
      `WORLD_SIZE is ${torch.size}: a launcher such as torchrun has started this process`,
      {
        advice: "rgx starts ranks by MPI: rgx … --ranks N, mpirun -np N rgx …, or srun " +
          "--mpi=pmix rgx …. One process: unset WORLD_SIZE.",
      },
    );
  }
  return null;
}

function twoLaunchers(a: Launch, b: Launch): UsageError {
  return new UsageError(
    `two launchers have started this process: ${a.from}=${a.size} (Open MPI) and ` +
      `${b.from}=${b.size} (MPICH)`,
    {
      advice: "One launcher was started within the other, or its variables are left over. Start " +
        "rgx with one of mpirun, mpiexec and srun, in a shell without the variables of another.",
    },
  );
}
