# Completion of holdfast for fish. Nothing of the line is evaluated.
function __holdfast_offered
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    if string match -q -- '-*' $current
        set -a before $current
    end
    for line in ($before[1] $before[2..-1] --generate-shell-completion 2>/dev/null)
        string replace -r ':' \t -- $line
    end
end
complete -c holdfast -e
complete -c holdfast -a '(__holdfast_offered)'
