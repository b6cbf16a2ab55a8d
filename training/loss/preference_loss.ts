/**
 * The losses of preferences: a chosen and a rejected answer of one prompt (Rafailov et al. 2023,
 * "Direct Preference Optimization"), as `DPOTrainer._compute_loss` of TRL 1.16 computes them. What
 * is compared is by how much an answer is likelier under the policy than under the reference.
 */
import type { DpoSection } from "../../configs/schema/run_config.ts";

/** Sums over the tokens of the two answers; the reference's are 0 where there is none. */
export interface PairLogps {
  chosen: number;
  rejected: number;
  refChosen: number;
  refRejected: number;
  chosenTokens: number;
  rejectedTokens: number;
}

/** The loss of a pair, and its derivatives by the sums of the policy. */
export interface PairLoss {
  loss: number;
  byChosen: number;
  byRejected: number;
}

/** The loss of x = beta · (chosen log-ratio − rejected log-ratio), and its derivative. */
type MarginLoss = (x: number, smoothing: number) => { loss: number; slope: number };

const MARGIN_LOSSES: Record<Exclude<DpoSection["loss_type"], "ipo">, MarginLoss> = {
  /** DPO itself: −log σ(x). */
  sigmoid: (x) => ({ loss: softplus(-x), slope: -sigmoid(-x) }),
  /** Zhao et al. 2023, "SLiC-HF", with the log-ratio as the score. */
  hinge: (x) => ({ loss: Math.max(0, 1 - x), slope: x < 1 ? -1 : 0 }),
  /** Chowdhury et al. 2024: unbiased where a share of the labels is wrong. */
  robust: (x, smoothing) => {
    const right = 1 - smoothing, scale = 1 - 2 * smoothing;
    return {
      loss: (right * softplus(-x) - smoothing * softplus(x)) / scale,
      slope: -(right * sigmoid(-x) + smoothing * sigmoid(x)) / scale,
    };
  },
};

export function pairLoss(pair: PairLogps, settings: DpoSection): PairLoss {
  const { beta, loss_type: type, label_smoothing: smoothing } = settings;
  const chosen = pair.chosen - pair.refChosen, rejected = pair.rejected - pair.refRejected;
  if (type === "ipo") {
    // Azar et al. 2023, "A General Theoretical Paradigm": of means over tokens, as TRL has it.
    const { chosenTokens, rejectedTokens } = pair;
    const off = chosen / chosenTokens - rejected / rejectedTokens - 1 / (2 * beta);
    return {
      loss: off ** 2,
      byChosen: 2 * off / chosenTokens,
      byRejected: -2 * off / rejectedTokens,
    };
  }
  const { loss, slope } = MARGIN_LOSSES[type](beta * (chosen - rejected), smoothing);
  return { loss, byChosen: beta * slope, byRejected: -beta * slope };
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** log(1 + e^x) without overflow. */
function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}
