# The job that merges the results and draws charts after all elements have ended; needs no GPU.
submit_join() {
  sbatch --parsable --dependency="afterany:$1" --array=0 {{join_options}} "$script" join
}
case ${1:-} in
  join) exec "${command[@]}" --merge ;;
  element) ;; # submitted below, together with the job that merges the results
  *)
    if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then # called with bash
      mkdir -p {{logs}}
      array=$(sbatch --parsable --array="0-$((NUM_GPUS - 1)){{limit}}" "$script" element) || exit 1
      echo "$array"
      submit_join "${array%%;*}"
      exit
    fi
    # Called with sbatch: the first element submits the job that merges the results.
    if [ "$SLURM_ARRAY_TASK_ID" = "${SLURM_ARRAY_TASK_MIN:-0}" ] &&
      [ -z "${SLURM_RESTART_COUNT:-}" ]; then
      submit_join "$SLURM_ARRAY_JOB_ID" || echo "submit it by hand: sbatch ... $script join" >&2
    fi
    ;;
esac
if [ "$SLURM_ARRAY_TASK_ID" -ge "$NUM_GPUS" ]; then exit 0; fi # NUM_GPUS was lowered
# If NUM_GPUS was raised and sbatch still started the original elements, these share all the work.
elements=${SLURM_ARRAY_TASK_MIN:-}-${SLURM_ARRAY_TASK_MAX:-}
if [ "$elements" = {{elements}} ] && [ "$NUM_GPUS" -gt {{gpus}} ]; then NUM_GPUS={{gpus}}; fi
command+=(--shard "$SLURM_ARRAY_TASK_ID/$NUM_GPUS")
