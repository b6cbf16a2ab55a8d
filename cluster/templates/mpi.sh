# How srun starts the ranks: Open MPI needs pmix, MPICH pmi2. A site may list a type that does not
# work, so it is tried. rgx slurm --mpi TYPE names another.
types="pmix pmi2"
if command -v mpichversion >/dev/null && ! command -v ompi_info >/dev/null; then
  types="pmi2 pmix"
fi
mpi=''
for type in $types; do
  if srun --nodes=1 --ntasks=1 --mpi="$type" true 2>/dev/null; then mpi=$type && break; fi
done
if [ -z "$mpi" ]; then
  echo "srun starts no MPI here, neither pmix nor pmi2: see docs/cluster.md" >&2
  srun --mpi=list >&2
  exit 1
fi
