/**
 * `rgx` for tests of lost ranks: a rank kills itself, as the kernel's memory killer would, in the
 * middle of what RGX_TEST_MOMENT names. RGX_TEST_DEATH names a file for the time of its death.
 */
import { runCli } from "../../cli/program.ts";
import { Ranks } from "../../cluster/ranks/ranks.ts";
import { RankWatch } from "../../cluster/ranks/watch/rank_watch.ts";
import { type ClockPhase, PhaseClock } from "../../training/metrics/phase_clock.ts";

/** A phase of a run in which a rank dies. */
interface Death {
  phase: ClockPhase;
  /** Which of its times in this process, from 1. */
  time: number;
  /** After how many operations of the device; 0 = when the phase begins. */
  operations: number;
}

const PHASES: Record<string, Death> = {
  "supervised step": { phase: "forward_backward", time: 2, operations: 8 },
  generation: { phase: "generate", time: 1, operations: 8 },
  scoring: { phase: "score", time: 1, operations: 0 },
  backward: { phase: "forward_backward", time: 1, operations: 12 },
  optimizer: { phase: "optimizer", time: 1, operations: 1 },
  checkpoint: { phase: "checkpoint", time: 1, operations: 0 },
  evaluation: { phase: "eval", time: 1, operations: 8 },
};

export const MOMENTS = ["start", ...Object.keys(PHASES), "reduction", "end"] as const;

function die(): void {
  Deno.writeTextFileSync(Deno.env.get("RGX_TEST_DEATH")!, String(Date.now()));
  Deno.kill(Deno.pid, "SIGKILL");
}

function dieAt(moment: string): void {
  const { compare, sum, close } = Ranks.prototype, { time } = PhaseClock.prototype;
  if (moment === "start") {
    Ranks.prototype.compare = function (...args) {
      die();
      return compare.apply(this, args);
    };
  } else if (moment === "reduction") {
    Ranks.prototype.sum = function (...args) {
      // Its call has begun by then, and the others wait in it.
      setTimeout(die, 1);
      return sum.apply(this, args) as never;
    };
  } else if (moment === "end") {
    Ranks.prototype.close = function () {
      die();
      return close.apply(this);
    };
  } else {
    const { phase, time: wanted, operations } = PHASES[moment]!, { beat } = RankWatch.prototype;
    let times = 0, left = Infinity;
    RankWatch.prototype.beat = function () {
      if (left-- <= 0) die();
      beat.apply(this);
    };
    PhaseClock.prototype.time = function (of, work) {
      if (of !== phase || ++times !== wanted) return time.call(this, of, work) as never;
      left = operations;
      if (operations > 0) return time.call(this, of, work) as never;
      const { rename } = Deno;
      // Everything of a checkpoint is written but its name.
      Deno.rename = (...args) => {
        if (phase === "checkpoint") die();
        return rename(...args);
      };
      if (phase !== "checkpoint") die();
      return time.call(this, of, work) as never;
    };
  }
}

if (import.meta.main) {
  const rank = Deno.env.get("OMPI_COMM_WORLD_RANK") ?? Deno.env.get("PMI_RANK");
  const moment = Deno.env.get("RGX_TEST_MOMENT")!;
  // The first rank writes the checkpoints.
  if (rank === (moment === "checkpoint" ? "0" : "1")) dieAt(moment);
  Deno.exit(await runCli(Deno.args));
}
