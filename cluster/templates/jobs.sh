#!/bin/bash
{{sbatch}}

# {{made_by}}
# Submit it with: {{submit}}
cd {{work_dir}} || exit 1
{{environment}}
set -uo pipefail
script={{script}}
id=${PBS_JOBID:-${LSB_JOBID:-}} element={{element}}
export OMP_NUM_THREADS={{cpus}}
{{run}}
command=(
  {{program}}
  train {{config}} {{overrides}}"$@" --resume
)
{{progress}}
{{mpi}}

# The rest is the same in every job. The program runs beside this shell, which watches the clock.
program='' interrupted='' warned='' ending=''
# USR2: the time limit is near. The program saves and exits with 75.
trap 'interrupted=1; warned=1; [ -z "$program" ] || kill -s "$notice" "$program" 2>/dev/null' USR2
# TERM or INT: the scheduler ends the job and signals the program itself.
trap 'interrupted=1; warned=1; ending=1' TERM INT
(
  sleep {{seconds}} &
  trap 'kill $!' TERM
  trap - INT USR2
  wait $! && kill -USR2 $$
) >/dev/null 2>&1 &
clock=$!
{{srun}}"${command[@]}" &
{{wait}}
kill "$clock" 2>/dev/null
{{killed}}
{{resubmit}}
