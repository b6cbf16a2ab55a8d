/** Keys of verl's data: files, how many rows of them, prompts and batches. */
import { key } from "../../types/key_spec.ts";
import { anything, bool, choice, int, nullable } from "../../types/value_types.ts";
import { each, refused } from "../foreign_table.ts";
import { inside, join, PLACE } from "./verl_keys.ts";

const COUNT = nullable(int({ min: 1 }));
const ROWS = nullable(int({ min: -1 }));
const FILES = anything("a file, or a list with one file");
const COLUMNS = "the columns are prompt, messages, or question and answer";
const NO_CODE = "no code of a data set is run";

export const DATA = inside(
  "data",
  join({
    obeyed: {
      tokenizer: "model.tokenizer_name_or_path",
      max_prompt_length: "training.max_prompt_length",
      max_response_length: "training.max_completion_length",
      shuffle: "training.shuffle_dataset",
      apply_chat_template_kwargs: "training.chat_template_kwargs",
    },
    translated: {
      train_files: key(FILES, null, "verl: data.dataset_name, where no task is named"),
      val_files: key(FILES, null, "verl: data.eval_dataset_name, where an evaluation is asked for"),
      train_max_samples: key(ROWS, null, "verl: data.max_examples; −1: all"),
      val_max_samples: key(ROWS, null, "verl: eval.num_examples; −1: all of val_files"),
      train_batch_size: key(
        COUNT,
        null,
        "verl: prompts of a generation; × num_generations is generation_batch_size",
      ),
      val_batch_size: key(COUNT, null, "verl: eval.batch_size"),
      truncation: key(
        nullable(choice(["error", "left"], { notYet: ["right", "middle"] })),
        null,
        "verl: truncate_prompts; error: prompts that are too long end the run before its first step",
      ),
      filter_overlong_prompts: key(
        nullable(bool()),
        null,
        "verl: true gets a note: a prompt that is too long ends the run before its first step",
      ),
    },
    withoutEffect: {
      ...each(
        `
        use_shm dataloader_num_workers filter_overlong_prompts_workers return_raw_input_ids
        return_raw_chat return_full_prompt return_multi_modal_inputs
      `,
        PLACE,
      ),
      trust_remote_code: "no code of a model is run",
      gen_batch_size: "dynamic_sampling draws as many prompts as a generation still needs",
      reward_fn_key: "rewards are those of the configuration",
      validation_shuffle: "the order of held-out problems does not matter",
    },
    dormant: {
      ...each(
        "image_key video_key audio_key image_patch_size mm_processor_kwargs",
        "images, which are refused",
      ),
      "custom_cls.name": "custom_cls.path, which is refused",
      "sampler.class_name": "sampler.class_path, which is refused",
      "datagen.name": "datagen.path, which is refused",
      "continuous_token.model_family": "continuous_token.enable, which is refused",
    },
    refused: {
      prompt_key: refused(COLUMNS, "prompt", "messages", "question"),
      "custom_cls.path": refused(NO_CODE),
      "sampler.class_path": refused("training.shuffle_dataset"),
      "datagen.path": refused(NO_CODE),
      "continuous_token.enable": refused("a completion is one turn of text", false),
      tool_config_path: refused("a completion is one turn of text"),
      function_tool_path: refused("a completion is one turn of text"),
    },
  }),
);
