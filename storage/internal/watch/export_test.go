package watch

// Watched says how many rows have watchers.
func (h *Hub) Watched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.rows)
}
