
# Exit code 75 means "saved, there is more to do": submit this script again, unless the scheduler
# ends the job (a deleted job must not come back) or several starts in a row made no progress.
memo={{memo}}${element:+-$element}
if [ "$code" = 75 ] && [ -z "$ending" ]; then
  before='' idle=0
  if [ -e "$memo" ]; then read -r before idle <"$memo"; fi
  now=$(progress)
  now=${now:-0}
  if [ "$now" = "$before" ]; then idle=$((idle + 1)); else idle=0; fi
  if [ "$idle" -ge {{max_idle}} ]; then
    echo "job $id: nothing new in $idle starts in a row (a step may take longer than the job):" \
      "not submitted again" >&2
  else
    echo "$now $idle" >"$memo"
    for pause in 1 10 30; do # the server may be too busy to answer
      sleep "$pause"
      [ -z "$ending" ] || break
      {{again}} || continue
      echo "job $id: $(date '+%F %T'): saved; the job is in the queue again and goes on by itself" >&2
      exit 0
    done
  fi
else
  rm -f "$memo"
fi
exit "$code"
