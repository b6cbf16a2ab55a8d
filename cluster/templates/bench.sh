#!/bin/bash
{{sbatch}}

# {{made_by}}
# Submit it with: bash {{script}}
# {{how}}

# Edit these values, or set them in the environment (lists with spaces), which has precedence.
given=("${MODELS:-}" "${TASKS:-}" "${NUM_EXAMPLES:-}" "${MAX_NEW_TOKENS:-}" "${NUM_GPUS:-}")
MODELS=(
{{models}}
)
TASKS=({{tasks}})
NUM_EXAMPLES={{num_examples}} # problems of each task
MAX_NEW_TOKENS={{max_new_tokens}} # empty: the value that a checkpoint was trained with, else 512
NUM_GPUS={{num_gpus}}
OUTPUT_DIR={{output_dir}}
if [ -n "${given[0]}" ]; then read -ra MODELS <<<"${given[0]}"; fi
if [ -n "${given[1]}" ]; then read -ra TASKS <<<"${given[1]}"; fi
NUM_EXAMPLES=${given[2]:-$NUM_EXAMPLES}
MAX_NEW_TOKENS=${given[3]:-$MAX_NEW_TOKENS} NUM_GPUS=${given[4]:-$NUM_GPUS}

cd {{work_dir}} || exit 1
{{environment}}
set -uo pipefail
script={{script}}
command=(
  {{program}}
  bench --models "${MODELS[@]}" --tasks "${TASKS[@]}" --num-examples "$NUM_EXAMPLES"
  --output-dir "$OUTPUT_DIR" --resume{{further}}
)
if [ -n "$MAX_NEW_TOKENS" ]; then command+=(--max-new-tokens "$MAX_NEW_TOKENS"); fi

{{roles}}
{{progress}}

{{supervise}}
{{killed}}
{{requeue}}
