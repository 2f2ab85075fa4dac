# bash completion of simco-middlebox, simcoctl, simco-ng, simco-loadgen and simco-echo: they know their own options.
_simco() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command="" help values i
  if [[ ${program##*/} == simcoctl ]]; then
    for ((i = 1; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in
        enable | reserve | disable | lifetime | delete | status | list | watch) command=${COMP_WORDS[i]} ;;
      esac
    done
  fi
  help=$("$program" ${command:+"$command"} --help 2>/dev/null) || return
  # An option with fixed values shows them as NAME:{one,other}.
  values=$(sed -n "s/^ *\(-[a-z],\)\{0,1\}$before TEXT:{\([^}]*\)}.*/\2/p" <<<"$help")
  if [[ $before == --* && -n $values ]]; then
    COMPREPLY=($(compgen -W "${values//,/ }" -- "$word"))
  elif [[ $before == --*file || $before == --tls-* || $before == --state || $before == --config || $before == --json || $before == --samples ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(grep -oE '^ *(-[a-z],)?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+')" -- "$word"))
  elif [[ ${program##*/} == simcoctl && -z $command ]]; then
    COMPREPLY=($(compgen -W "$(sed -n '/^Subcommands:/,$ s/^  \([a-z][a-z]*\) .*/\1/p' <<<"$help")" -- "$word"))
  fi
}
complete -F _simco simco-middlebox simcoctl simco-ng simco-loadgen simco-echo
