
# Exit code 75 means "saved, there is more to do": put the job back into the queue, unless SLURM is
# ending it (a cancelled job must not come back) or several restarts in a row made no progress.
memo={{memo}}-$id
if [ "$code" = 75 ] && [ -z "$ending" ]; then
  before='' idle=0
  if [ -e "$memo" ]; then read -r before idle <"$memo"; fi
  now=$(progress)
  now=${now:-0}
  if [ "$now" = "$before" ]; then idle=$((idle + 1)); else idle=0; fi
  if [ "$idle" -ge {{max_idle}} ]; then
    echo "job $id: nothing new in $idle restarts in a row" \
      "(a step may take longer than the job); not requeued" >&2
  else
    echo "$now $idle" >"$memo"
    for pause in 1 10 30; do # TERM may still arrive; the controller may be too busy to answer
      sleep "$pause"
      state=$(squeue -h -j "$id" -o %T) || continue
      if [ -n "$ending" ] || [ "$state" != RUNNING ]; then break; fi
      echo "job $id: $(date '+%F %T'): saved; it goes back into the queue and goes on by itself" >&2
      scontrol requeue "$id" || continue
      sleep 60 & wait $! # the requeue ends this script
      break
    done
  fi
else
  rm -f "$memo"
fi
exit "$code"
