/**
 * Joins the other ranks of a run, when a launcher (mpirun, srun) has started several, and sees to
 * it that they end together: the rank that has failed prints why, the others stay silent.
 */
import { EXIT, UsageError } from "../../core/errors.ts";
import { allowedCpus, grantedCores } from "../../core/machine/cgroup.ts";
import { memoryRoom } from "../../core/machine/memory.ts";
import { slurmJob } from "../../core/machine/job.ts";
import type { Device } from "../../kernels/device.ts";
import { cardsFor, deviceOnCard } from "../../kernels/mod.ts";
import { vectorArithmetic } from "../../kernels/native/vector_arithmetic.ts";
import { MpiTransport } from "../../cluster/ranks/mpi/mpi_transport.ts";
import { type NodeFacts, nodeShare, requireCards } from "../../cluster/ranks/node_share.ts";
import { ALONE, RankFailed, Ranks } from "../../cluster/ranks/ranks.ts";
import { type DeviceFlags, deviceNameOf, openDevice } from "../open_device.ts";
import { SPEAKER_FIRST_MS } from "../../cluster/ranks/watch/shared_state.ts";
import { RankWatch } from "../../cluster/ranks/watch/rank_watch.ts";
import { reportError } from "../report_error.ts";
import { log } from "../terminal/terminal.ts";

/** Joined ranks; `label` names them and the MPI library, null for one process alone. */
export interface JoinedRanks {
  ranks: Ranks;
  label: string | null;
}

/** Runs `work` on all ranks that were started together. @returns its exit code */
export async function withRanks(
  verbose: boolean,
  work: (joined: JoinedRanks) => Promise<number>,
): Promise<number> {
  const transport = MpiTransport.open();
  if (transport === null) return await work({ ranks: ALONE, label: null });
  const watch = new RankWatch(transport.rank, transport.size);
  const ranks = new Ranks(transport, () => watch.check(), watch, vectorArithmetic());
  const end = async () => {
    await ranks.meet();
    watch.close();
    await ranks.close();
  };
  try {
    const warning = await watch.start(ranks);
    if (warning !== null && ranks.isFirst) log(`warning: ${warning}`);
    const code = await work({ ranks, label: `${ranks.size} ranks, ${transport.label}` });
    await end();
    return code;
  } catch (error) {
    // Printed before the others end, because a launcher may then end this rank at once.
    const speaks = !(error instanceof RankFailed), isKnown = ranks.knows(error);
    let code = speaks ? reportError(error, verbose) : error.exitCode;
    // A failure of one machine can be resumed from. A failure on all ranks would happen again.
    if (code === EXIT.failure && (!isKnown || ranks.failedAlone)) code = watch.exitCode;
    if (isKnown) await end().catch(() => ranks.abort(code));
    else {
      if (speaks) await watch.fails();
      else await new Promise((resolve) => setTimeout(resolve, SPEAKER_FIRST_MS));
      ranks.abort(code);
    }
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
  const name = deviceNameOf(flags);
  const all = await ranks.each(() => factsOf(name));
  await ranks.each(() => requireCards(all));
  // All ranks take the same kind of device.
  const keep = name === "auto" ? await ranks.first(() => deviceOnCard(flags.keep ?? null)) : null;
  const kind = name === "vulkan" ? name : keep ?? "webgpu";
  const share = nodeShare(ranks.rank, all), onCard = Number.isFinite(all[ranks.rank]!.cards);
  const isSet = Deno.env.get("RGX_NUM_THREADS") || Deno.env.get("SLURM_CPUS_PER_TASK");
  let device: Device | undefined;
  await ranks.each(async () => {
    device = await openDevice({
      ...flags,
      ...(onCard && share.card > 0 ? { device: `${kind}:${share.card}` } : {}),
      keep,
      ...(flags.threads === undefined && !isSet ? { threads: share.threads } : {}),
    });
  });
  return { device: device!, memory: onCard ? null : share.memory };
}

async function factsOf(device: string): Promise<NodeFacts> {
  const kind = /^(webgpu|vulkan):/.exec(device)?.[1];
  if (kind !== undefined) {
    throw new UsageError(`--device ${device}: each rank takes a card by its number on the node`, {
      advice: `Give --device ${kind}. CUDA_VISIBLE_DEVICES chooses the cards of a node.`,
    });
  }
  const cards = await cardsFor(device);
  return {
    node: slurmJob()?.node ?? Deno.hostname(),
    cores: grantedCores(),
    // The cores that this process may use; "" where they are not known.
    mask: allowedCpus()?.join(",") ?? "",
    memory: memoryRoom().bytes,
    visible: cards?.by ?? "",
    // Ranks on the CPU need none.
    cards: cards?.cards ?? Infinity,
  };
}
