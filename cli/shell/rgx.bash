# Completion of rgx for bash, made by: rgx completions bash
_rgx() {
  # Bash splits words at "=" and ":", so a candidate replaces only the part behind them.
  local line="${COMP_LINE:0:COMP_POINT}" candidate
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  local word="${words[-1]}"
  local before="${word%"${word##*[=:]}"}"
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    COMPREPLY+=("${candidate#"$before"}")
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2> /dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[=/] ]]; then
    compopt -o nospace 2> /dev/null
  fi
}
complete -o default -o bashdefault -F _rgx rgx
