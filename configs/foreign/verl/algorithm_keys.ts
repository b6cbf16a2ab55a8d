/** Keys of verl's advantages, of its KL penalty, and of corrections for another policy. */
import { key } from "../../types/key_spec.ts";
import { int, nullable, text } from "../../types/value_types.ts";
import { each, refused } from "../foreign_table.ts";
import { inside, join } from "./verl_keys.ts";

const SAME_POLICY = "completions are sampled with the weights that are trained, so that the " +
  "correction would be about 1: sampling/sampling_logp_difference";
const GRPO = "advantages are those of GRPO; of gdpo write multi_objective_aggregation: " +
  "normalize_then_sum";

export const ALGORITHM = inside(
  "algorithm",
  join({
    obeyed: {
      norm_adv_by_std_in_grpo: "training.scale_rewards",
      "filter_groups.enable": "training.dynamic_sampling",
    },
    translated: {
      "filter_groups.max_num_gen_batches": key(
        nullable(int({ min: 0 })),
        null,
        "verl: dynamic_sampling_max_batches; 0: no limit",
      ),
      "filter_groups.metric": key(
        nullable(text()),
        null,
        "verl: what must differ in a group; rgx looks at its rewards together, which is every " +
          "metric where there is one reward",
      ),
    },
    withoutEffect: each(
      `
      rollout_correction.rollout_is rollout_correction.rollout_is_threshold
      rollout_correction.rollout_rs rollout_correction.rollout_rs_threshold
      rollout_correction.rollout_rs_threshold_lower
      rollout_correction.rollout_token_veto_threshold
      rollout_correction.bypass_mode rollout_correction.rollout_is_batch_normalize
    `,
      SAME_POLICY,
    ),
    dormant: {
      ...each("gamma lam", "a critic; GRPO has none"),
      ...each(
        "kl_penalty kl_ctrl.type kl_ctrl.kl_coef kl_ctrl.horizon kl_ctrl.target_kl",
        "use_kl_in_reward, which is refused",
      ),
      ...each("pf_ppo.reweight_method pf_ppo.weight_pow", "use_pf_ppo, which is refused"),
      gdpo_reward_keys: "adv_estimator gdpo, which is refused",
      "filter_groups.max_inflight_gen_batches": "asynchronous training, which is refused",
    },
    refused: {
      adv_estimator: refused(GRPO, "grpo", "grpo_vectorized"),
      use_kl_in_reward: refused("the KL term is part of the loss: beta", false),
      use_pf_ppo: refused("every group is trained on; training.dynamic_sampling", false),
      "rollout_correction.loss_type": refused("the loss is clipped: loss_type", "ppo_clip"),
      "rollout_correction.use_policy_gradient": refused("the loss is clipped: loss_type", false),
    },
  }),
);
