#compdef holdfast
# Completion of holdfast for zsh. Nothing of the line is evaluated.
_holdfast() {
	local current="${words[CURRENT]}"
	local -a before offered
	before=("${(@)words[2,CURRENT-1]}")
	[[ $current == -* ]] && before+=("$current")
	offered=("${(@f)$("${words[1]}" "${before[@]}" --generate-shell-completion 2>/dev/null)}")
	if [[ -n "${offered[1]}" ]]; then
		_describe 'holdfast' offered
	else
		_files
	fi
}
if [[ "${funcstack[1]}" == "_holdfast" ]]; then
	_holdfast "$@"
else
	compdef _holdfast holdfast
fi
