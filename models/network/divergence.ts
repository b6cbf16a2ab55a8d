/**
 * How far a student's distribution over the next token is from a teacher's: the generalised
 * Jensen-Shannon divergence (Agarwal et al. 2024, "On-Policy Distillation of Language Models") as
 * TRL 1.16's DistillationTrainer computes it, with p = softmax(logits / temperature):
 *
 *     beta 0         KL(p_teacher ‖ p_student)                                   forward KL
 *     beta 1         KL(p_student ‖ p_teacher)                                   reverse KL
 *     0 < beta < 1   beta · KL(p_teacher ‖ m) + (1 − beta) · KL(p_student ‖ m),
 *                    m = beta · p_teacher + (1 − beta) · p_student
 *
 * In float64 on the host, one row of logits at a time.
 */
import { logSumExp } from "../logits.ts";

/** How a student is compared with a teacher. */
export interface DivergenceOptions {
  beta: number;
  temperature: number;
  /** Of each branch token in the loss. [tokens] */
  weights: Float64Array;
}

type Logits = Float32Array | Float64Array;

/** The divergence of a row. @param slope [vocab], becomes the derivative by the student's logits */
export function divergence(
  student: Logits,
  teacher: Logits,
  { beta, temperature }: Omit<DivergenceOptions, "weights">,
  slope: Float64Array,
): number {
  const vocab = student.length;
  const studentNorm = logSumExp(student, temperature);
  const teacherNorm = logSumExp(teacher, temperature);
  const logStudent = Math.log(1 - beta), logTeacher = Math.log(beta);
  let fromTeacher = 0, fromStudent = 0;
  for (let v = 0; v < vocab; v++) {
    const s = student[v]! / temperature - studentNorm, t = teacher[v]! / temperature - teacherNorm;
    const p = Math.exp(s);
    if (beta === 0) {
      const q = Math.exp(t);
      fromTeacher += q * (t - s);
      slope[v] = p - q;
      continue;
    }
    let m = t;
    if (beta < 1) {
      const a = s + logStudent, b = t + logTeacher, top = Math.max(a, b);
      m = top + Math.log1p(Math.exp(Math.min(a, b) - top));
      fromTeacher += Math.exp(t) * (t - m);
    }
    fromStudent += p * (s - m);
    slope[v] = p * (s - m);
  }
  const share = beta === 0 ? 1 : beta === 1 ? 1 : 1 - beta;
  for (let v = 0; v < vocab; v++) {
    // What is added to all logits changes nothing, so the slopes add up to 0.
    const own = beta === 0 ? 0 : Math.exp(student[v]! / temperature - studentNorm) * fromStudent;
    slope[v] = share * (slope[v]! - own) / temperature;
  }
  if (beta === 0) return fromTeacher;
  return beta === 1 ? fromStudent : beta * fromTeacher + (1 - beta) * fromStudent;
}
