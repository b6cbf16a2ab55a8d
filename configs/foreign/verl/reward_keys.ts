/** Keys of verl's rewards, in `reward` (newer) and `reward_model` (older), and its other models. */
import { key } from "../../types/key_spec.ts";
import { bool, float, int, nullable } from "../../types/value_types.ts";
import { each, refused } from "../foreign_table.ts";
import { OPTIMIZER_AND_CHECKPOINT } from "./actor_keys.ts";
import { ENGINES, FSDP, MEGATRON, PROFILERS } from "./engine_keys.ts";
import { MODEL } from "./model_keys.ts";
import { INSIDE_OF_ENGINE, SAMPLING } from "./rollout_keys.ts";
import { asDormant, inside, join, PLACE, type VerlKeys } from "./verl_keys.ts";

const FUNCTIONS = "rewards are functions: rewards: [{name, weight}], or [{path}] for a file of JS";
const MODEL_SWITCH = "a reward model, which is refused";
const CRITIC = "a critic; GRPO has none";
const TEACHER = "distillation.enabled, which is refused";

/** All keys of a model that generates, where none is used. */
function generatorWithout(why: string): VerlKeys {
  return join(
    asDormant(join(SAMPLING, INSIDE_OF_ENGINE), why),
    { dormant: each("engine_kwargs quantization quantization_config_file mtp", why) },
  );
}

const FUNCTION = inside("custom_reward_function", {
  dormant: each("name reward_kwargs", "custom_reward_function.path, which is refused"),
  refused: { path: refused(FUNCTIONS) },
});

const SANDBOX = inside("sandbox_fusion", {
  dormant: each("max_concurrent memory_limit_mb", "sandbox_fusion.url, which is refused"),
  refused: { url: refused("rgx serves no sandbox to rewards; rewards: [{path}]") },
});

/** DAPO's soft punishment of long completions, under a name of verl's recipes. */
function overlong(section: string): VerlKeys {
  return inside(section, {
    translated: {
      enable: key(nullable(bool()), null, "verl: adds the reward soft_overlong"),
      len: key(nullable(int({ min: 1 })), null, "verl: soft_overlong's soft_punish_cache"),
      penalty_factor: key(nullable(float()), null, "verl: soft_overlong's weight (1)"),
    },
    withoutEffect: { log: "each reward is logged" },
  });
}

const KWARGS = join(overlong("reward_kwargs.overlong_buffer_cfg"), {
  translated: {
    "reward_kwargs.max_resp_len": key(
      nullable(int({ min: 1 })),
      null,
      "verl: soft_overlong's max_completion_len (max_response_length)",
    ),
  },
});

const MANAGER = refused(FUNCTIONS, "naive", "dapo");

/** Newer: everything in `reward`. */
const REWARD = inside(
  "reward",
  join(FUNCTION, SANDBOX, KWARGS, inside("reward_model.rollout", generatorWithout(MODEL_SWITCH)), {
    withoutEffect: each("num_workers", PLACE),
    dormant: {
      ...each(
        `
        reward_model.enable_resource_pool reward_model.n_gpus_per_node reward_model.nnodes
        reward_model.model_path
      `,
        MODEL_SWITCH,
      ),
      "reward_manager.module.name": "reward_manager.module.path, which is refused",
    },
    refused: {
      "reward_model.enable": refused(FUNCTIONS, false),
      "reward_manager.source": refused(FUNCTIONS, "register"),
      "reward_manager.name": MANAGER,
      "reward_manager.module.path": refused(FUNCTIONS),
    },
  }),
);

/** Older: `reward_model` and what stood beside it. */
const REWARD_MODEL = join(
  FUNCTION,
  SANDBOX,
  inside(
    "reward_model",
    join(
      SANDBOX,
      KWARGS,
      overlong("overlong_buffer"),
      inside("rollout", generatorWithout(MODEL_SWITCH)),
      asDormant(join(inside("model.fsdp_config", FSDP), PROFILERS), MODEL_SWITCH),
      asDormant(MEGATRON, MODEL_SWITCH),
      {
        withoutEffect: each("num_workers launch_reward_fn_async", PLACE),
        dormant: {
          ...each(
            `
            enable_resource_pool forward_max_token_len_per_gpu load_weight max_length
            micro_batch_size micro_batch_size_per_gpu model.external_lib model.input_tokenizer
            model.path model.trust_remote_code model.use_fused_kernels model.use_remove_padding
            model.use_shm n_gpus_per_node nccl_timeout nnodes param_offload strategy
            ulysses_sequence_parallel_size use_dynamic_bsz
          `,
            MODEL_SWITCH,
          ),
          ...each("reward_loop_class_name", "reward_loop_module_path, which is refused"),
        },
        refused: {
          enable: refused(FUNCTIONS, false),
          reward_manager: MANAGER,
          "reward_manager.name": MANAGER,
          reward_loop_source: refused(FUNCTIONS, "register"),
          reward_loop_module_path: refused(FUNCTIONS),
        },
      },
    ),
  ),
);

/** The names inside `actor_rollout_ref.model`, as the critic has them. */
const MODEL_OF_CRITIC: VerlKeys = {
  dormant: Object.fromEntries(
    Object.values(MODEL).flatMap((list) => Object.keys(list))
      .map((name) => [name.slice("actor_rollout_ref.".length), CRITIC]),
  ),
};

const CRITIC_KEYS = inside(
  "critic",
  join(
    MODEL_OF_CRITIC,
    asDormant(
      join(OPTIMIZER_AND_CHECKPOINT, ENGINES, inside("fsdp", FSDP)),
      CRITIC,
    ),
    asDormant(inside("model.fsdp_config", FSDP), CRITIC),
    {
      dormant: each(
        `
        rollout_n strategy ppo_mini_batch_size ppo_micro_batch_size ppo_micro_batch_size_per_gpu
        use_dynamic_bsz ppo_max_token_len_per_gpu forward_max_token_len_per_gpu
        forward_micro_batch_size forward_micro_batch_size_per_gpu ppo_epochs shuffle
        data_loader_seed cliprange_value loss_agg_mode loss_scale_factor
        ulysses_sequence_parallel_size grad_clip nccl_timeout load_weight kl_ctrl.type
        kl_ctrl.kl_coef checkpoint.contents
      `,
        CRITIC,
      ),
      refused: { enable: refused("GRPO has no critic", false) },
    },
  ),
);

const DISTILLATION = inside(
  "distillation",
  join(
    inside("teacher_models.teacher_model.inference", generatorWithout(TEACHER)),
    {
      dormant: each(
        `
        distillation_loss.loss_mode distillation_loss.topk distillation_loss.use_task_rewards
        distillation_loss.distillation_loss_coef distillation_loss.loss_max_clamp
        distillation_loss.log_prob_min_clamp distillation_loss.use_policy_gradient
        distillation_loss.policy_loss_mode distillation_loss.clip_ratio
        distillation_loss.clip_ratio_low distillation_loss.clip_ratio_high n_gpus_per_node nnodes
        teacher_models teacher_models.teacher_model.key teacher_models.teacher_model.model_path
        teacher_models.teacher_model.num_replicas teacher_key
      `,
        TEACHER,
      ),
      refused: {
        enabled: refused("rewards are functions, there is no teacher", false),
      },
    },
  ),
);

export const REWARDS = join(REWARD, REWARD_MODEL, CRITIC_KEYS, DISTILLATION);
