# Completion of holdfast for fish. Nothing of the line is evaluated.
function __holdfast_offered
    set -l before (commandline -opc)
    set -l current (commandline -ct | string trim --left --chars '\'"')
    $before[1] complete words $before[2..-1] "$current" 2>/dev/null
end
complete -c holdfast -e
complete -c holdfast -a '(__holdfast_offered)'
