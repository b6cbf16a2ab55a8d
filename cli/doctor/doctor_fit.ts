/**
 * Whether a configuration fits this machine, or the present job: memory, time, and the files that
 * it names.
 */
import { bytesText } from "../../core/bytes.ts";
import { loadConfig } from "../../configs/load.ts";
import { duration } from "../../core/duration.ts";
import { freeBytes } from "../../core/machine/disk_space.ts";
import type { OtherWork } from "../../core/machine/other_work.ts";
import { RgxError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import { describeDevice } from "../../kernels/mod.ts";
import { assemble } from "../../training/assemble.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import { planFromShape } from "../../training/memory/shape_plan.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import {
  missingAdvice,
  missingForRun,
  missingLines,
  namingMissing,
} from "../plans/missing_parts.ts";
import { measuredRunTime, runTimeText } from "../plans/run_time.ts";
import { openDevice, runDeviceName } from "../open_device.ts";
import { usableSeconds } from "../stop_control.ts";

export interface FitReport {
  config: string;
  device: string;
  memory_planned_bytes: number | null;
  memory_available_bytes: number | null;
  /** Seconds of the whole run; null when the model is not on this machine. */
  estimated_seconds: number | null;
  /** The share that other programs used while the time was measured; null when it is not known. */
  others: OtherWork | null;
  /** Bytes that the run will write; null when the model is not on this machine. */
  disk_planned_bytes: number | null;
  /** Bytes that are free on the file system of the run's folder; null when they are not known. */
  disk_free_bytes: number | null;
  /** The reasons why the run is not possible on this machine. */
  misfits: string[];
  /** How to get the model or the data set that is not here; null: nothing is missing. */
  fetch: string | null;
  /** Remarks that do not prevent the run. */
  notes: string[];
}

/**
 * @param named the device of `--device`, if it is given
 * @throws UsageError when the configuration itself is wrong, or the device is unknown
 */
export async function fitReport(
  name: string,
  overrides: string[],
  named: string | undefined,
): Promise<FitReport> {
  const loaded = await namingMissing(() =>
    loadConfig(name, { overrides, env: Deno.env.toObject() })
  );
  const deviceName = runDeviceName(named, loaded.config.training);
  const device = await openDevice(deviceName === undefined ? {} : { device: deviceName });
  const report: FitReport = {
    config: name,
    device: describeDevice(device),
    memory_planned_bytes: null,
    memory_available_bytes: null,
    estimated_seconds: null,
    others: null,
    disk_planned_bytes: null,
    disk_free_bytes: await freeBytes(loaded.config.training.output_dir),
    misfits: [],
    fetch: null,
    notes: [],
  };
  const planned = ({ peak, available }: MemoryPlan) => {
    report.memory_planned_bytes = peak;
    report.memory_available_bytes = Number.isFinite(available) ? available : null;
  };
  try {
    const missing = await missingForRun(loaded.config);
    if (missing.length > 0) {
      report.misfits.push(...missingLines(missing));
      report.fetch = missingAdvice(missing);
      const seen = ({ memory }: { memory: MemoryPlan }) => planned(memory);
      await planFromShape(loaded.config, device, { onPlan: seen });
      return report;
    }
    const parts = await assemble(loaded.config, device, { planned, opensRewards: false });
    try {
      const trainer = new GrpoTrainer({
        config: loaded.config,
        configText: loaded.yaml,
        device,
        ...parts,
        resume: await exists(loaded.config.training.output_dir),
      });
      report.notes.push(...await trainer.check());
      report.disk_planned_bytes = trainer.plan().disk.total;
      const time = await measuredRunTime(() => trainer.estimateSeconds());
      report.estimated_seconds = time.seconds;
      report.others = time.others;
    } finally {
      await parts.rubric.close();
    }
    report.notes.push(...timeNotes(report.estimated_seconds, await secondsLeft()));
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    // Without the data set or the model's sizes there is no plan, only a list of missing parts.
    if (report.fetch !== null && report.memory_planned_bytes === null) return report;
    const { message, advice } = error;
    report.misfits.push(advice === undefined ? message : `${message}; ${advice}`);
  } finally {
    device.close();
  }
  return report;
}

function timeNotes(needed: number, left: number | null): string[] {
  if (left === null || needed <= usableSeconds(left)) return [];
  return [
    `the run takes about ${duration(needed)}, the job ends in ${
      duration(left)
    }: it is saved before, ends with ` +
    "exit code 75 and continues with --resume",
  ];
}

export function fitRows(fit: FitReport): string[][] {
  const size = (bytes: number | null) => bytes === null ? "an unknown amount" : bytesText(bytes);
  const rows = [["config", `${fit.config}, on ${fit.device}`]];
  if (fit.memory_planned_bytes !== null) {
    rows.push([
      "its memory",
      `${size(fit.memory_planned_bytes)} planned of ${size(fit.memory_available_bytes)}`,
    ]);
  }
  if (fit.disk_planned_bytes !== null) {
    rows.push([
      "its disk",
      `at most about ${size(fit.disk_planned_bytes)} planned of ${size(fit.disk_free_bytes)}`,
    ]);
  }
  const { estimated_seconds: seconds, others } = fit;
  if (seconds !== null) rows.push(["its time", runTimeText({ seconds, others })]);
  return rows;
}
