if [ -z "${SLURM_JOB_ID:-}" ]; then # called with bash
  exec sbatch --parsable --ntasks-per-node="$NUM_GPUS" {{gres}}"$script"
fi
{{mpi}}
