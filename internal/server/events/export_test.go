package events

// Others is how many streams of other members a source tells.
func Others(s *Source) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.feeds) - s.watchers - s.keepers
}
