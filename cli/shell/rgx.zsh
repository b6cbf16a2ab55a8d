#compdef rgx
# Completion of rgx for zsh, made by: rgx completions zsh
_rgx() {
  local -a found open
  local line value text
  while IFS=$'\t' read -r value text; do
    line="${value//:/\\:}${text:+:$text}"
    # A key and a folder go on, so no space follows them.
    if [[ "$value" == *[=/] ]]; then open+=("$line"); else found+=("$line"); fi
  done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)
  if (( ${#found} + ${#open} == 0 )); then
    _files
  else
    (( ${#open} )) && _describe -V rgx open -S ""
    (( ${#found} )) && _describe -V rgx found
  fi
}
if [[ "${funcstack[1]}" == "_rgx" ]]; then _rgx "$@"; else compdef _rgx rgx; fi
