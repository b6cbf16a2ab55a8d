# Completion of rgx for fish, made by: rgx completions fish
function __rgx_complete
  set -l words (commandline -opc)
  set -l found ($words[1] __complete -- $words[2..] (commandline -ct) 2> /dev/null)
  if test (count $found) -eq 0
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $found
  end
end
complete -c rgx -f -a '(__rgx_complete)'
