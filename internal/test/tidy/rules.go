package tidy

// Rules lists every check.
func Rules() []Rule {
	return []Rule{
		{"imports", "imports point down only, so a layer can be read and tested without those above it", imports},
		{"concurrency", "a rules package has no goroutine and no channel, so a run is a list of events", concurrency},
		{"globals", "nothing keeps state outside of its values: two members in one process share nothing", globals},
		{"order", "the order of a map differs from run to run, and must not reach an effect", order},
		{"files", "a file can be read in one sitting", fileLength},
		{"docs", "each package begins with the page that a newcomer reads", docs},
		{"skeleton", "all protocols have the same files, so knowing one is knowing six", skeleton},
		{"names", "a name says what is inside", names},
		{"comments", "a comment says of which name it speaks, and a name that has changed has changed there too", comments},
		{"receivers", "now, ev, out and m mean the same in every machine", receivers},
		{"leaks", "a goroutine that outlives what began it is found by the tests of its package", leaks},
		{"errors", "an error says what was being done; that it failed is known", errorWords},
		{"unfinished", "what is on the main branch is finished; what is not is an issue", unfinished},
		{"subjects", "a sentence that users read names what it is about, in plain English", subjects},
		{"translations", "what other Go code says is plain English too", translations},
		{"places", "the text holds for every machine and every network", places},
	}
}
