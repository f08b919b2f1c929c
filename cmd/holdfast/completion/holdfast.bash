# Completion of holdfast for bash. Nothing of the line is evaluated.
_holdfast() {
	local current="${COMP_WORDS[COMP_CWORD]}" line word
	local -a before=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
	COMPREPLY=()
	[[ $current == -* ]] && before+=("$current")
	while IFS= read -r line; do
		word="${line%%:*}"
		[[ $word == "$current"* ]] && COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" "${before[@]}" --generate-shell-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _holdfast holdfast
