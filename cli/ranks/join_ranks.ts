/**
 * Joins the other ranks of a run, when a launcher (mpirun, srun) has started several, and sees to
 * it that they end together: the rank that has failed prints why, the others stay silent.
 */
import { UsageError } from "../../core/errors.ts";
import { grantedCores } from "../../core/machine/cgroup.ts";
import { memoryRoom } from "../../core/machine/memory.ts";
import { slurmJob } from "../../core/machine/job.ts";
import type { Device } from "../../kernels/device.ts";
import { cardsFor } from "../../kernels/mod.ts";
import { MpiTransport } from "../../ranks/mpi/mpi_transport.ts";
import { type NodeFacts, nodeShare, requireCards } from "../../ranks/node_share.ts";
import { ALONE, RankFailed, Ranks } from "../../ranks/ranks.ts";
import { type DeviceFlags, openDevice } from "../open_device.ts";
import { reportError } from "../report_error.ts";

/** Joined ranks; `label` names them and the MPI library, null for one process alone. */
export interface JoinedRanks {
  ranks: Ranks;
  label: string | null;
}

/**
 * Runs `work` on all ranks that were started together.
 * @returns its exit code, the same on all ranks
 */
export async function withRanks(
  verbose: boolean,
  work: (joined: JoinedRanks) => Promise<number>,
): Promise<number> {
  const transport = MpiTransport.open();
  if (transport === null) return await work({ ranks: ALONE, label: null });
  const ranks = new Ranks(transport);
  try {
    const code = await work({ ranks, label: `${ranks.size} ranks, ${transport.label}` });
    await ranks.close();
    return code;
  } catch (error) {
    // Printed before the others end, because a launcher may then end this rank at once.
    const code = error instanceof RankFailed ? error.exitCode : reportError(error, verbose);
    if (ranks.knows(error)) await ranks.close();
    else ranks.abort(code);
    return code;
  }
}

/**
 * Opens the device of this rank: a card of its own, or a share of the cores of its machine.
 * @returns the device, and the bytes that this rank may allocate on its machine; null = all
 * @throws UsageError on all ranks, when there are too few cards
 */
export async function openRankDevice(
  ranks: Ranks,
  flags: DeviceFlags,
): Promise<{ device: Device; memory: number | null }> {
  if (ranks.size === 1) return { device: await openDevice(flags), memory: null };
  const name = flags.device ?? Deno.env.get("RGX_DEVICE") ?? "auto";
  const all = await ranks.each(() => factsOf(name));
  await ranks.each(() => requireCards(all));
  const share = nodeShare(ranks.rank, all), onCard = Number.isFinite(all[ranks.rank]!.cards);
  const isSet = Deno.env.get("RGX_NUM_THREADS") || Deno.env.get("SLURM_CPUS_PER_TASK");
  let device: Device | undefined;
  await ranks.each(async () => {
    device = await openDevice({
      ...flags,
      ...(onCard && share.card > 0 ? { device: `webgpu:${share.card}` } : {}),
      ...(flags.threads === undefined && !isSet ? { threads: share.threads } : {}),
    });
  });
  return { device: device!, memory: onCard ? null : share.memory };
}

async function factsOf(device: string): Promise<NodeFacts> {
  if (/^webgpu:/.test(device)) {
    throw new UsageError(`--device ${device}: each rank takes a card by its number on the node`, {
      advice: "Give --device webgpu. CUDA_VISIBLE_DEVICES chooses the cards of a node.",
    });
  }
  const cards = await cardsFor(device);
  return {
    node: slurmJob()?.node ?? Deno.hostname(),
    cores: grantedCores(),
    mask: affinityMask(),
    memory: memoryRoom().bytes,
    visible: cards?.by ?? "",
    // Ranks on the CPU need none.
    cards: cards?.cards ?? Infinity,
  };
}

/** The cores that this process may use, as the kernel lists them; "" where it does not. */
function affinityMask(): string {
  try {
    const status = Deno.readTextFileSync("/proc/self/status");
    return /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? "";
  } catch {
    return "";
  }
}
