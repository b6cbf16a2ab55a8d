/** Keys of verl's loop: how long, how often it saves and evaluates, where it writes. */
import { key } from "../../types/key_spec.ts";
import { anything, bool, choice, int, nullable } from "../../types/value_types.ts";
import { each, refused } from "../foreign_table.ts";
import { inside, join, PLACE, PROFILER } from "./verl_keys.ts";

const TURNS = "rgx generates and trains in turns";
const KEPT = "completions are kept in the run's folder";

export const TRAINER = inside(
  "trainer",
  join({
    obeyed: {
      default_local_dir: "training.output_dir",
      total_epochs: "training.num_train_epochs",
      experiment_name: "logging.run_name",
      project_name: "logging.project",
      max_actor_ckpt_to_keep: "training.save_total_limit",
      max_ckpt_to_keep: "training.save_total_limit",
      nnodes: "training.nnodes",
      n_gpus_per_node: "training.n_gpus_per_node",
    },
    translated: {
      total_training_steps: key(
        nullable(int({ min: -1 })),
        null,
        "verl: max_steps; null: total_epochs decides",
      ),
      save_freq: key(nullable(int({ min: -1 })), null, "verl: save_steps; −1 or 0: never"),
      test_freq: key(
        nullable(int({ min: -1 })),
        null,
        "verl: eval_steps, with eval_strategy steps; −1 or 0: never",
      ),
      val_before_train: key(bool(), false, "verl: eval_on_start"),
      logger: key(
        anything("a name or a list of names"),
        null,
        "verl: report_to, where that is not written",
      ),
      resume_mode: key(
        nullable(choice(["auto", "disable", "resume_path"])),
        null,
        "verl: resume_from_checkpoint true, false, or what resume_from_path names",
      ),
      resume_from_path: key(
        anything("a path, null or false"),
        null,
        "verl: resume_from_checkpoint, with resume_mode resume_path",
      ),
    },
    withoutEffect: {
      ...each(
        `
        balance_batch ray_wait_register_center_timeout use_legacy_worker_impl use_v1
        worker_env.PYTORCH_CUDA_ALLOC_CONF
      `,
        PLACE,
      ),
      ...each(
        "log_val_generations val_generations_to_log_to_wandb rollout_data_dir validation_data_dir",
        KEPT,
      ),
      device: "rgx train CONFIG --device",
      esi_redundant_time: "SIGTERM, SIGUSR1 and SIGUSR2 always save a checkpoint",
      ...each(
        `
        profile_steps controller_nsight_options.trace controller_nsight_options.cuda-memory-usage
        controller_nsight_options.cuda-graph-trace worker_nsight_options.trace
        worker_nsight_options.cuda-memory-usage worker_nsight_options.cuda-graph-trace
        worker_nsight_options.capture-range worker_nsight_options.capture-range-end
        worker_nsight_options.kill npu_profile.options.save_path npu_profile.options.level
        npu_profile.options.with_memory npu_profile.options.record_shapes
        npu_profile.options.with_npu npu_profile.options.with_cpu npu_profile.options.with_module
        npu_profile.options.with_stack npu_profile.options.analysis
      `,
        PROFILER,
      ),
    },
    dormant: {
      max_critic_ckpt_to_keep: "a critic; GRPO has none",
      ...each(
        `
        v1.sync v1.colocate_async.num_warmup_batches v1.separate_async.num_warmup_batches
        v1.separate_async.parameter_sync_step v1.separate_async.hybrid_rollout.enable_switch
        v1.separate_async.hybrid_rollout.switch_threshold_ratio
        v1.separate_async.hybrid_rollout.adaptive_switch_threshold
        v1.separate_async.hybrid_rollout.switch_threshold_step_up
        v1.separate_async.hybrid_rollout.switch_threshold_step_down
        v1.separate_async.hybrid_rollout.switch_threshold_release_steps
        v1.separate_async.hybrid_rollout.switch_cost_window_size
        v1.sampler.max_off_policy_threshold v1.sampler.max_off_policy_strategy
        v1.sampler.sync_refill_failed_groups v1.sampler.sampler_kwargs
        v1.sampler.custom_sampler.name
      `,
        "asynchronous training, which is refused",
      ),
    },
    refused: {
      "v1.trainer_mode": refused(TURNS, "sync"),
      "v1.sampler.custom_sampler.path": refused("training.shuffle_dataset"),
      critic_warmup: refused("every step trains the model", 0),
      val_only: refused("rgx bench CONFIG measures without training", false),
      default_hdfs_dir: refused("a run writes to one folder: training.output_dir"),
      del_local_ckpt_after_load: refused("training.save_total_limit says what is kept", false),
      remove_previous_ckpt_in_save: refused("training.save_total_limit: 1", false),
    },
  }),
);

const SKIPPED = "each completion is generated anew";

/** The sections of verl that say how its processes run. */
export const PROCESSES = join(
  {
    withoutEffect: {
      ...each(
        `
        ray_init.num_cpus ray_init.timeline_json_file ray_kwargs.ray_init ray_kwargs.ray_init.num_cpus
        ray_kwargs.ray_init.num_gpus ray_kwargs.ray_init.runtime_env
        ray_kwargs.ray_init.runtime_env.py_executable ray_kwargs.timeline_json_file
        transfer_queue.enable transfer_queue.metrics.enabled transfer_queue.metrics.port
        transfer_queue.backend.storage_backend
        transfer_queue.backend.SimpleStorage.total_storage_size
        transfer_queue.backend.SimpleStorage.num_data_storage_units
        transfer_queue.backend.MooncakeStore.auto_init
        transfer_queue.backend.MooncakeStore.metadata_server
        transfer_queue.backend.MooncakeStore.master_server_address
        transfer_queue.backend.MooncakeStore.local_hostname
        transfer_queue.backend.MooncakeStore.protocol
        transfer_queue.backend.MooncakeStore.global_segment_size
        transfer_queue.backend.MooncakeStore.local_buffer_size
        transfer_queue.backend.MooncakeStore.device_name
      `,
        PLACE,
      ),
      verbose: PLACE,
      hydra: "it steers Hydra itself",
    },
  },
  inside("global_profiler", {
    withoutEffect: each("tool steps", PROFILER),
    dormant: each(
      `
      profile_continuous_steps save_path relocate_results finish_hook_cmd
      finish_hook_all_ranks finish_hook_ranks discrete global_tool_config.nsys.discrete
      global_tool_config.nsys.controller_nsight_options.trace
      global_tool_config.nsys.controller_nsight_options.cuda-memory-usage
      global_tool_config.nsys.controller_nsight_options.cuda-graph-trace
      global_tool_config.nsys.worker_nsight_options.trace
      global_tool_config.nsys.worker_nsight_options.cuda-memory-usage
      global_tool_config.nsys.worker_nsight_options.cuda-graph-trace
      global_tool_config.nsys.worker_nsight_options.capture-range
      global_tool_config.nsys.worker_nsight_options.capture-range-end
      global_tool_config.nsys.worker_nsight_options.kill
      global_tool_config.torch_memory.trace_alloc_max_entries
      global_tool_config.torch_memory.stack_depth global_tool_config.torch_memory.context
      global_tool_config.torch_memory.stacks global_tool_config.torch_memory.kw_args
      global_tool_config.precision_debugger.config_path global_tool_config.precision_debugger.steps
      global_tool_config.precision_debugger.stages global_tool_config.precision_debugger.strict
    `,
      "global_profiler.tool, which has no effect",
    ),
  }),
  inside("skip", {
    refused: each("rollout.enable rollout_tq.enable async_rollout.enable", refused(SKIPPED, false)),
    dormant: each(
      `
      rollout.dump_dir rollout.steps rollout.action rollout_tq.dump_dir rollout_tq.steps
      rollout_tq.action async_rollout.dump_dir async_rollout.steps async_rollout.action
    `,
      "skip.*.enable, which is refused",
    ),
  }),
);
