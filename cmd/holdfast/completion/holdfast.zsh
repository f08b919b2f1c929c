#compdef holdfast
# Completion of holdfast for zsh. Nothing of the line is evaluated.
_holdfast() {
	local word about
	local -a found shown
	while IFS=$'\t' read -r word about; do
		found+=("$word")
		shown+=("$word${about:+  -- $about}")
	done < <("${words[1]}" complete words "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
	if (( ${#found} )); then
		compadd -l -d shown -a found
	else
		_files
	fi
}
if [[ "${funcstack[1]}" == "_holdfast" ]]; then
	_holdfast "$@"
else
	compdef _holdfast holdfast
fi
