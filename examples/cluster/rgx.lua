-- A module file for Lmod: put it in a folder of MODULEPATH as rgx/0.1.0.lua, and the executable
-- and its licences below `root`. Then: module load rgx. No cluster with Lmod was at hand to try it.
local root = "/opt/rgx/0.1.0"

whatis("Name: rgx")
whatis("Description: reasoning tasks, GRPO training, benchmarks and serving in one executable")
help("rgx --help; rgx doctor says what a node has. Models are fetched with rgx pull.")

prepend_path("PATH", pathJoin(root, "bin"))
-- Models are large: keep them on the file system that the nodes share.
setenv("HF_HOME", pathJoin(os.getenv("SCRATCH") or os.getenv("HOME"), "huggingface"))
