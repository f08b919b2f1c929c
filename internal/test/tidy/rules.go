package tidy

// Rules lists every check.
func Rules() []Rule {
	return []Rule{
		{"imports", "imports point down only, so a layer can be read and tested without those above it", imports},
		{"grpc", "only the layers that speak to other processes know protobuf and gRPC", grpc},
		{"logger", "the nouns and the rules say what happens by notes, so that a run can be compared", logger},
		{"concurrency", "a rules package has no goroutine and no channel, so a run is a list of events", concurrency},
		{"clock", "a rules package is told the time, so that it can be simulated", clock},
		{"randomness", "a rules package draws from the seeded source it was given, so that a run can be repeated", randomness},
		{"globals", "nothing keeps state outside of its values: two members in one process share nothing", globals},
		{"order", "the order of a map differs from run to run, and must not reach an effect", order},
		{"markers", "a waiver names a rule, gives a reason, and stands above what it waives", markers},
		{"functions", "a function fits a screen", functionLength},
		{"files", "a file can be read in one sitting", fileLength},
		{"init", "nothing runs before main and nothing registers itself", initFunctions},
		{"docs", "each package begins with the page that a newcomer reads", docs},
		{"skeleton", "all protocols have the same files, so knowing one is knowing six", skeleton},
		{"names", "a name says what is inside", names},
		{"receivers", "now, ev, out and m mean the same in every machine", receivers},
		{"sleep", "a test waits for an event, never for a while", sleep},
		{"leaks", "a goroutine that outlives what began it is found by the tests of its package", leaks},
		{"errors", "an error says what was being done; that it failed is known", errorWords},
		{"unfinished", "what is on the main branch is finished; what is not is an issue", unfinished},
		{"subjects", "a sentence of a document or a comment names what it is about", subjects},
		{"places", "the text holds for every machine and every network", places},
	}
}
