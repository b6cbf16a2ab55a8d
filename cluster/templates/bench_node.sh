if [ -z "${SLURM_JOB_ID:-}" ]; then # called with bash
  exec sbatch --parsable {{gres}}"$script"
fi
command+=({{workers}}) # one process for each
