# The rest is the same in every job. The program runs beside this shell, which handles signals.
id=$SLURM_JOB_ID # in an array job this id may mean all elements
if [ -n "${SLURM_ARRAY_JOB_ID:-}" ]; then id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
program='' interrupted='' warned='' ending=''
# USR2: the time limit is near. The program saves and exits with 75. (srun forwards the signal.)
trap 'interrupted=1; warned=1; [ -z "$program" ] || kill -USR2 "$program" 2>/dev/null' USR2
# TERM: SLURM ends the job and signals the program itself. Forwarded, TERM would end srun too early.
trap 'interrupted=1; warned=1; ending=1' TERM
{{srun}} "${command[@]}" &
{{wait}}
