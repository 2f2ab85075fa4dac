# fish completion of simco-middlebox, simcoctl, simco-ng, simco-loadgen, simco-echo and simco-sip: they know their own options.
function __simco_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    # Programs without transports have no --help-all.
    set -l help ($program --help-all 2>/dev/null; or $program --help 2>/dev/null)
    set -l commands (string join \n -- $help | sed -n '/^Commands:/,$ s/^\([a-z][a-z]*\)$/\1/p')
    set -l chosen ""
    for word in $words[2..-1]
        if contains -- $word $commands
            set chosen $word
        end
    end
    if test -n "$chosen"
        set -a help ($program $chosen --help 2>/dev/null)
    end
    # An option with fixed values shows them as --option one|other.
    set -l values (string join \n -- $help | sed -n "s/^ *\(-[a-zA-Z],\)\{0,1\}$words[-1] \([a-z0-9-]*|[a-z0-9|-]*\).*/\2/p" | head -n 1)
    if string match -q -- '--*' $words[-1]; and test -n "$values"
        string split '|' -- $values
    else if string match -qr -- '^--(.*file|tls-.*|state|config|json|samples)$' $words[-1]
        __fish_complete_path (commandline -ct)
    else
        string join \n -- $help | sed -n 's/^ *\(-[a-zA-Z],\)\{0,1\}\(--[a-z][a-z0-9-]*\).*/\2/p' | sort -u
        if test -z "$chosen"
            string join \n -- $commands
        end
    end
end
for program in simco-middlebox simcoctl simco-ng simco-loadgen simco-echo simco-sip
    complete -c $program -f -a '(__simco_complete)'
end
