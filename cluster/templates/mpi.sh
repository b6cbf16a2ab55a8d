# How srun starts the ranks: Open MPI needs pmix, MPICH pmi2. rgx slurm --mpi TYPE names another.
types="pmix pmi2"
if command -v mpichversion >/dev/null && ! command -v ompi_info >/dev/null; then
  types="pmi2 pmix"
fi
mpi='' offered=" $(srun --mpi=list 2>&1 | tr -s '[:space:]' ' ') "
for type in $types; do
  if [ -z "$mpi" ]; then case $offered in *" $type "*) mpi=$type ;; esac; fi
done
if [ -z "$mpi" ]; then
  echo "srun starts no MPI here, neither pmix nor pmi2 ($offered): see docs/cluster.md" >&2
  exit 1
fi
