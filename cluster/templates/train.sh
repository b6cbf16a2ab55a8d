#!/bin/bash
{{sbatch}}

# {{made_by}}
# Submit it with: sbatch FILE. Arguments after FILE are overrides, such as training.max_steps=500.
cd {{work_dir}} || exit 1
{{environment}}
set -uo pipefail
{{run}}
command=(
  {{program}}
  train {{config}} {{overrides}}"$@" --resume
)
{{progress}}
{{mpi}}

{{supervise}}
{{killed}}
{{requeue}}
