/** Curves by steps, time or completions, of runs or of all seeds of a configuration. */
import type { Curve, CurvesOfRun, RunInfo } from "../api.ts";
import type { Look, ShownRun } from "./chart.ts";

/** The lines of the charts, and the curve of each for a metric. */
interface ShownCurves {
  runs: ShownRun[];
  curves: (metric: string) => (Curve | undefined)[];
}

/**
 * @param answerOf what the server has sent of a run
 * @param bySeeds runs that differ only in seeds become one line
 */
export function shownCurves(
  chosen: readonly ShownRun[],
  infos: ReadonlyMap<string, RunInfo>,
  answerOf: (id: string) => CurvesOfRun | undefined,
  { x }: Look,
  bySeeds: boolean,
): ShownCurves {
  const placed = ({ id }: ShownRun, metric: string): Curve | undefined => {
    const answer = answerOf(id), curve = answer?.curves[metric];
    if (curve === undefined || x === "step") return curve;
    const samples = infos.get(id)?.samplesPerStep ?? 1, { clock } = answer!;
    const place = (step: number) => x === "samples" ? step * samples : valueAt(clock, step) ?? 0;
    return { ...curve, steps: curve.steps.map(place) };
  };
  if (!bySeeds) {
    return { runs: [...chosen], curves: (metric) => chosen.map((run) => placed(run, metric)) };
  }
  const families = [...Map.groupBy(chosen, ({ id }) => infos.get(id)?.family ?? id).values()];
  return {
    runs: families.map((family) => {
      const [first] = family as [ShownRun], count = family.length;
      return count === 1 ? first : { ...first, name: `${first.name} (mean of ${count} seeds)` };
    }),
    curves: (metric) =>
      families.map((family) => {
        const curves = family.map((run) => placed(run, metric)).filter((one) => one !== undefined);
        return curves.length < 2 ? curves[0] : meanCurve(curves);
      }),
  };
}

/**
 * The mean of several curves, with one standard deviation to each side, as far as all of them go: a
 * curve that ends would make the mean jump.
 */
function meanCurve(curves: readonly Curve[]): Curve {
  const mean: Curve = { steps: [], values: [], low: [], high: [] };
  for (const step of [...new Set(curves.flatMap((curve) => curve.steps))].sort((a, b) => a - b)) {
    const values = curves.map((curve) => valueAt(curve, step)).filter((one) => one !== null);
    if (values.length < curves.length) continue;
    const middle = values.reduce((sum, one) => sum + one, 0) / values.length;
    const squares = values.reduce((sum, one) => sum + (one - middle) ** 2, 0);
    const spread = Math.sqrt(squares / (values.length - 1));
    mean.steps.push(step);
    mean.values.push(middle);
    mean.low!.push(middle - spread);
    mean.high!.push(middle + spread);
  }
  return mean;
}

/** The smoothed value at a step, between the two nearest ones; null outside of the curve. */
function valueAt({ steps, values, smooth }: Curve, step: number): number | null {
  const of = smooth ?? values, after = steps.findIndex((one) => one >= step);
  if (after < 0) return null;
  const high = of[after] ?? null;
  if (steps[after] === step) return high;
  const low = of[after - 1] ?? null;
  if (low === null || high === null) return null;
  const [from, to] = [steps[after - 1]!, steps[after]!];
  return low + (high - low) * (step - from) / (to - from);
}
