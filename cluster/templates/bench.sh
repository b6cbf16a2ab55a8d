#!/bin/bash
{{sbatch}}

# {{made_by}}
# Submit it with
#   bash {{script}}
# {{how}}

MODELS=(
{{models}}
)
TASKS=({{tasks}})
NUM_EXAMPLES={{num_examples}} # problems of each task
MAX_NEW_TOKENS={{max_new_tokens}} # empty: as the checkpoints were trained, else 512
NUM_GPUS={{num_gpus}}
OUTPUT_DIR={{output_dir}}

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
{{requeue}}
