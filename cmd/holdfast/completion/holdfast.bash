# Completion of holdfast for bash. Nothing of the line is evaluated.
_holdfast() {
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		COMPREPLY+=("$line")
	done < <("${COMP_WORDS[0]}" complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o bashdefault -o default -F _holdfast holdfast
