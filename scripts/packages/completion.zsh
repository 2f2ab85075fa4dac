#compdef simco-middlebox simcoctl simco-ng simco-loadgen simco-echo simco-sip
# zsh completion: the programs know their own options.
_simco() {
  local program=$words[1] before=$words[CURRENT-1] command="" help text word
  local -a commands options values
  # Programs without transports have no --help-all.
  help=$($program --help-all 2>/dev/null || $program --help 2>/dev/null) || return
  commands=(${(f)"$(sed -n '/^Commands:/,$ s/^\([a-z][a-z]*\)$/\1/p' <<<$help)"})
  for word in $words[2,CURRENT-1]; do
    if (( $commands[(Ie)$word] )); then command=$word; fi
  done
  if [[ -n $command ]]; then help+=$'\n'$($program $command --help 2>/dev/null); fi
  # An option with fixed values shows them as --option one|other.
  text=$(sed -n "s/^ *\(-[a-zA-Z],\)\{0,1\}$before \([a-z0-9-]*|[a-z0-9|-]*\).*/\2/p" <<<$help | head -n 1)
  values=(${(s:|:)text})
  options=(${(f)"$(sed -n 's/^ *\(-[a-zA-Z],\)\{0,1\}\(--[a-z][a-z0-9-]*\).*/\2/p' <<<$help)"})
  if [[ $before == --* && -n $text ]]; then
    compadd -a values
  elif [[ $before == (--*file|--tls-*|--state|--config|--json|--samples) && $words[CURRENT] != -* ]]; then
    _files
  elif [[ $words[CURRENT] == -* || -n $command ]]; then
    compadd -a options
  else
    compadd -a commands
  fi
}
_simco "$@"
