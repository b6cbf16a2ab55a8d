/**
 * The parts of a model as FSDP's processes save them, `model_world_size_N_rank_R.pt`, which verl
 * writes to `global_step_…/actor`: finding the N files, checking that they belong together, and
 * putting each tensor together from its parts. PyTorch divides a dimension of n elements among m
 * processes into parts of ⌈n/m⌉; the last ones may be shorter or empty.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { elementCount } from "../element_count.ts";
import { DTYPE_BYTES, type SafetensorsDType } from "../safetensors/dtypes.ts";
import type { TensorEntry } from "../safetensors/safetensors_writer.ts";
import type { Division } from "./distributed_rules.ts";
import { type RankFile, readRankFile } from "./torch_file.ts";

const NAME = /^model_world_size_(\d+)_rank_(\d+)\.pt$/;
/** Folders in which verl puts the parts, below the folder of a step. */
const BELOW = ["actor", "critic"];

export interface RankFiles {
  readonly folder: string;
  /** Paths in the order of ranks. */
  readonly paths: readonly string[];
}

/** Whether a file has the name of such a part. */
export function isRankFile(path: string): boolean {
  return NAME.test(path.slice(path.lastIndexOf("/") + 1));
}

/**
 * The parts that a path names: one of the files, their folder, or the folder of a step above it.
 * Null when there are none.
 * @throws UsageError when some are missing, or there are several sets
 */
export async function findRankFiles(path: string): Promise<RankFiles | null> {
  if (isRankFile(path)) {
    const slash = path.lastIndexOf("/"), folder = slash < 0 ? "." : path.slice(0, slash);
    return await completeSet(folder, Number(NAME.exec(path.slice(slash + 1))![1]));
  }
  for (const folder of foldersOf(path)) {
    const worlds = new Set([...await ranksIn(folder)].map(([world]) => world));
    if (worlds.size === 0) continue;
    if (worlds.size === 1) return await completeSet(folder, [...worlds][0]!);
    const sizes = [...worlds].sort((a, b) => a - b).join(" and ");
    throw new UsageError(`${folder}: it holds parts of runs with ${sizes} processes`, {
      advice: "Name one file of those that you want, for example " +
        `${folder}/model_world_size_${Math.min(...worlds)}_rank_0.pt.`,
    });
  }
  return null;
}

/** Whether a folder, or verl's folders below it, hold such parts. */
export async function holdsRankFiles(path: string): Promise<boolean> {
  for (const folder of foldersOf(path)) if ((await ranksIn(folder)).length > 0) return true;
  return false;
}

function foldersOf(path: string): string[] {
  return [path, ...BELOW.map((name) => `${path}/${name}`)];
}

/** [world size, rank] of the parts in a folder. */
async function ranksIn(folder: string): Promise<[world: number, rank: number][]> {
  const found: [number, number][] = [];
  if (!(await Deno.stat(folder).catch(() => null))?.isDirectory) return found;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const match = isDirectory ? null : NAME.exec(name);
    if (match !== null) found.push([Number(match[1]), Number(match[2])]);
  }
  return found;
}

async function completeSet(folder: string, world: number): Promise<RankFiles> {
  const ranks = new Set((await ranksIn(folder)).filter(([w]) => w === world).map(([, r]) => r));
  if (world < 1 || world > 65536) {
    throw new UsageError(`${folder}: a run of ${world} processes cannot be`);
  }
  const all = Array.from({ length: world }, (_, rank) => rank);
  const missing = all.filter((rank) => !ranks.has(rank));
  if (missing.length > 0) {
    throw new UsageError(
      `${folder}: ${missing.length} of ${world} parts are missing: rank ${list(missing)}`,
      {
        advice: "Each process writes its part on its own machine: copy all " +
          `model_world_size_${world}_rank_*.pt into this folder.`,
      },
    );
  }
  return { folder, paths: all.map((r) => `${folder}/model_world_size_${world}_rank_${r}.pt`) };
}

function list(numbers: readonly number[]): string {
  return numbers.slice(0, 8).join(", ") + (numbers.length > 8 ? ", …" : "");
}

export interface JoinedTensors {
  readonly tensors: readonly TensorEntry[];
  bytes(name: string): Promise<Uint8Array<ArrayBuffer>>;
}

/** Where a process's part is in the whole tensor. */
interface Part {
  readonly rank: RankFile;
  readonly offset: readonly number[];
  readonly shape: readonly number[];
}

const OTHER_RUN = "The parts must be of one save of one run: copy them again.";

/**
 * Opens all parts and checks that they make whole tensors.
 * @throws RgxError when one is damaged, or they do not belong together
 */
export async function openRankFiles({ paths }: RankFiles): Promise<JoinedTensors> {
  const ranks: RankFile[] = [];
  for (const path of paths) ranks.push(await readRankFile(path));
  const first = ranks[0]!, names = [...first.file.tensors.keys()];
  for (const { file } of ranks) {
    const missing = names.find((name) => !file.tensors.has(name));
    const added = [...file.tensors.keys()].find((name) => !first.file.tensors.has(name));
    if (missing === undefined && added === undefined) continue;
    throw new RgxError(
      missing === undefined
        ? `${file.label}: it has a tensor "${added}", which ${first.file.label} does not have`
        : `${file.label}: no tensor "${missing}", which ${first.file.label} has`,
      { advice: OTHER_RUN },
    );
  }
  const adapted = names.find((name) => name.includes(".lora_A."));
  if (adapted !== undefined) {
    throw new UsageError(`${first.file.label}: it holds an adapter over its base: "${adapted}"`, {
      advice: "verl writes the adapter alone to the folder lora_adapter beside the parts: use it.",
    });
  }
  const parts = new Map(names.map((name) => [name, partsOf(name, ranks)]));
  const tensors = names.map((name): TensorEntry => {
    const dtype = first.file.info(name).dtype as SafetensorsDType;
    return { name, dtype, shape: shapeOf(first, name) };
  });
  return { tensors, bytes: (name) => join(name, parts.get(name)!) };
}

function shapeOf({ file, divisions }: RankFile, name: string): readonly number[] {
  return divisions.get(name)?.shape ?? file.info(name).shape;
}

/** All parts of a tensor, in the order of ranks. */
function partsOf(name: string, ranks: readonly RankFile[]): Part[] {
  const first = ranks[0]!, shape = shapeOf(first, name), { dtype } = first.file.info(name);
  const divisions = ranks.map(({ divisions }) => divisions.get(name) ?? null);
  const places = divisions.map((division, rank) => placeOf(division, rank));
  const mesh = (places[0] ?? []).map((_, axis) =>
    1 + Math.max(...places.map((place) => place[axis] ?? 0))
  );
  ranks.forEach((rank, r) => {
    const { file } = rank, found = file.info(name).dtype, division = divisions[r]!;
    const otherwise = (what: string) =>
      new RgxError(`${file.label}: tensor "${name}" ${what}`, { advice: OTHER_RUN });
    if (found !== dtype) throw otherwise(`is ${found}, in ${first.file.label} it is ${dtype}`);
    if (shapeOf(rank, name).join() !== shape.join()) {
      throw otherwise(
        `is of a whole of shape [${shapeOf(rank, name)}], in ${first.file.label} of [${shape}]`,
      );
    }
    if (String(division?.splits) !== String(divisions[0]?.splits)) {
      throw otherwise(`is divided in another way than in ${first.file.label}`);
    }
  });
  if (divisions[0] === null) {
    return ranks.map((rank) => ({
      rank,
      offset: shape.map(() => 0),
      shape,
    }));
  }
  const size = mesh.reduce((a, b) => a * b, 1);
  if (size !== ranks.length || new Set(places.map(String)).size !== ranks.length) {
    throw new RgxError(
      `${first.file.label}: tensor "${name}" is divided among ${size} processes, ` +
        `there are parts of ${ranks.length}`,
      { advice: OTHER_RUN },
    );
  }
  return ranks.map((rank, r) => partOf(name, rank, divisions[r]!, places[r]!, mesh));
}

/** A process's place in the mesh; without one in the file, its rank. */
function placeOf(division: Division | null, rank: number): readonly number[] {
  if (division === null) return [];
  return division.place ?? (division.splits.length === 1 ? [rank] : []);
}

function partOf(
  name: string,
  rank: RankFile,
  { shape, splits }: Division,
  place: readonly number[],
  mesh: readonly number[],
): Part {
  const offset = shape.map(() => 0), expected = [...shape];
  for (const [axis, split] of splits.entries()) {
    if (split === null) continue;
    const whole = shape[split]!, chunk = Math.ceil(whole / mesh[axis]!);
    offset[split] = Math.min(whole, chunk * place[axis]!);
    expected[split] = Math.min(whole - offset[split], chunk);
  }
  const { file } = rank, found = file.info(name).shape;
  const isEmpty = elementCount(found) === 0 && elementCount(expected) === 0;
  if (found.join() !== expected.join() && !isEmpty) {
    throw new RgxError(
      `${file.label}: its part of "${name}" has shape [${found}], expected [${expected}] of ` +
        `[${shape}] for place ${place.join(", ")} among ${mesh.join(" × ")} processes`,
      { advice: OTHER_RUN },
    );
  }
  return { rank, offset, shape: expected };
}

/** @throws RgxError when two processes have different copies of the same part */
async function join(name: string, parts: readonly Part[]): Promise<Uint8Array<ArrayBuffer>> {
  const { rank } = parts[0]!, shape = shapeOf(rank, name);
  const bytes = DTYPE_BYTES[rank.file.info(name).dtype as SafetensorsDType];
  const out = new Uint8Array(elementCount(shape) * bytes), copied = new Map<string, Part>();
  for (const part of parts) {
    if (elementCount(part.shape) === 0) continue;
    const data = await part.rank.file.bytes(name), earlier = copied.get(part.offset.join());
    const same = eachRun(part, shape, bytes, (from, to, length) => {
      const target = out.subarray(to, to + length), run = data.subarray(from, from + length);
      if (earlier === undefined) target.set(run);
      return earlier === undefined || equal(target, run);
    });
    if (!same) {
      throw new RgxError(
        `${part.rank.file.label}: its copy of "${name}" differs from that in ` +
          `${earlier!.rank.file.label}`,
        { advice: OTHER_RUN },
      );
    }
    copied.set(part.offset.join(), part);
  }
  return out;
}

/**
 * Calls `use` with each run of bytes that is contiguous in the part and in the whole, until it
 * returns false. Returns whether it never did.
 */
function eachRun(
  { offset, shape }: Part,
  whole: readonly number[],
  bytes: number,
  use: (from: number, to: number, length: number) => boolean,
): boolean {
  // From this dimension on the part is as wide as the whole.
  let inner = whole.length;
  while (inner > 0 && shape[inner - 1] === whole[inner - 1]) inner--;
  const dims = Math.max(0, inner - 1);
  const strides = whole.map((_, i) => elementCount(whole.slice(i + 1)) * bytes);
  const length = elementCount(shape.slice(dims)) * bytes;
  const start = offset.reduce((sum, at, i) => sum + at * strides[i]!, 0);
  const index = shape.slice(0, dims).map(() => 0);
  for (let run = 0, to = start; run < elementCount(shape.slice(0, dims)); run++) {
    if (!use(run * length, to, length)) return false;
    for (let i = dims - 1; i >= 0; i--) {
      to += strides[i]!;
      if (++index[i]! < shape[i]!) break;
      to -= strides[i]! * shape[i]!;
      index[i] = 0;
    }
  }
  return true;
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((byte, i) => byte === b[i]);
}
