# What follows is the same in every job. The program runs beside this shell, which hears SLURM for it.
id=$SLURM_JOB_ID # in an array this number may stand for all elements
if [ -n "${SLURM_ARRAY_JOB_ID:-}" ]; then id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
program='' interrupted='' ending=''
# Nearly out of time: the program saves and exits with 75. (srun hands the signal on.)
trap 'interrupted=1; [ -z "$program" ] || kill -USR2 "$program" 2>/dev/null' USR2
# Cancelled, out of time or preempted: SLURM tells the program itself; handed on, it would cut srun short.
trap 'interrupted=1; ending=1' TERM
srun --nodes=1 --ntasks=1 --kill-on-bad-exit=1 "${command[@]}" &
program=$!
code=0
while interrupted=''; do
  wait "$program"
  code=$?
  [ -n "$interrupted" ] || break # a signal ends wait early
done
