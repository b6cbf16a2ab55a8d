if [ -z "${SLURM_JOB_ID:-}" ]; then # called with bash
  exec sbatch --parsable --gres={{gres}}"$NUM_GPUS" "$script"
fi
command+=({{workers}}) # a process each
