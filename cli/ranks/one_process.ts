/**
 * For commands that run as one process: refuses to run as several, because each process would do
 * the same work and write the same files.
 */
import { UsageError } from "../../core/errors.ts";
import { processLayout } from "../../core/machine/job.ts";

/** @throws UsageError when a launcher has started several processes together */
export function refuseOtherRanks(): void {
  const layout = processLayout();
  if (layout === null) return;
  const { rank, size, from } = layout;
  throw new UsageError(
    `this is process ${rank} of ${size} that were started together (${from}); this command is one process`,
    {
      advice:
        "Start one: srun --ntasks=1, or mpirun -np 1. rgx train, sft, bench and eval use several.",
    },
  );
}
