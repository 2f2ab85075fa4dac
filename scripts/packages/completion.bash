# bash completion of simco-middlebox, simcoctl, simco-ng, simco-loadgen, simco-echo and simco-sip: they know their own options.
_simco() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local commands="" command="" help values i
  # Programs without transports have no --help-all.
  help=$("$program" --help-all 2>/dev/null || "$program" --help 2>/dev/null) || return
  commands=$(sed -n '/^Commands:/,$ s/^\([a-z][a-z]*\)$/\1/p' <<<"$help")
  for ((i = 1; i < COMP_CWORD; i++)); do
    if grep -qxF -- "${COMP_WORDS[i]}" <<<"$commands"; then command=${COMP_WORDS[i]}; fi
  done
  [[ -z $command ]] || help+=$'\n'$("$program" "$command" --help 2>/dev/null)
  # An option with fixed values shows them as --option one|other.
  values=$(sed -n "s/^ *\(-[a-zA-Z],\)\{0,1\}$before \([a-z0-9|-]*|[a-z0-9|-]*\).*/\2/p" <<<"$help" | head -n 1)
  if [[ $before == --* && -n $values ]]; then
    COMPREPLY=($(compgen -W "${values//|/ }" -- "$word"))
  elif [[ $before == --*file || $before == --tls-* || $before == --state || $before == --config || $before == --json || $before == --samples ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(sed -n 's/^ *\(-[a-zA-Z],\)\{0,1\}\(--[a-z][a-z0-9-]*\).*/\2/p' <<<"$help")" -- "$word"))
  elif [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  fi
}
complete -F _simco simco-middlebox simcoctl simco-ng simco-loadgen simco-echo simco-sip
