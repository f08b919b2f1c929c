package lock

// historyLimit is the maximum number of ended grants shown for one name.
const historyLimit = 16

// history keeps the latest ended grants, of all names together, in a ring that grows to its limit.
type history struct {
	bound int
	ended []ended
	next  int // index of the next one once the ring is full
}

type ended struct {
	name  string
	grant Grant
}

// add adds a grant of name that ends now, to be filled in.
func (h *history) add(name string) *Grant {
	at := h.next
	if len(h.ended) < h.bound {
		at = len(h.ended)
		h.ended = append(h.ended, ended{})
	} else if h.next++; h.next == h.bound {
		h.next = 0
	}
	h.ended[at].name = name
	return &h.ended[at].grant
}

// of returns the latest ended grants of name, newest first.
func (h *history) of(name string) []Grant {
	var grants []Grant
	for n := range h.ended {
		at := (h.next - 1 - n + 2*len(h.ended)) % len(h.ended)
		if h.ended[at].name != name {
			continue
		}
		if grants = append(grants, h.ended[at].grant); len(grants) == historyLimit {
			break
		}
	}
	return grants
}
