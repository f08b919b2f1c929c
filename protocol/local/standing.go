package local

import (
	"fmt"
	"iter"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Standing is a member's place in the newest view, which determines the messages that it accepts.
type Standing struct {
	Self protocol.ID
	// View is the newest; nil before the first.
	View *protocol.View
	// Place is the member's own place; zero if it has none under its tenure.
	Place Place
	// Halted means that the member has made a promise to a candidate: no client enters under the view any more, until
	// the next view.
	Halted bool

	// Lost are members that were left out, while their promises must be waited for.
	Lost protocol.Lost

	early []protocol.Event // of a view that is about to come
}

// Place is a member's stay in the views: under one tenure, without a gap.
type Place struct {
	ID     protocol.ID
	Tenure protocol.Tenure
	Since  uint64
}

// PlaceOf is a member's place in a view.
func PlaceOf(member *protocol.Member) Place { return Place{member.ID, member.Tenure, member.Since} }

// maxEarly is the maximum number of messages that wait for a view that is about to come; a further one is dropped, and
// its sender repeats it.
const maxEarly = 1024

// Take records the newest view, and reports whether it is the current one with more information. The member's own place
// does not change until Settle.
func (s *Standing) Take(view *protocol.View) (same bool) {
	before := s.View
	if before != nil && view.Epoch.Counter < before.Epoch.Counter {
		panic(fmt.Sprintf("clientele: epoch went back from %d to %d", before.Epoch.Counter, view.Epoch.Counter))
	}
	s.View, s.Halted = view, false
	s.Lost.Take(before, view)
	return before != nil && before.Number == view.Number && before.Epoch == view.Epoch
}

// Settle updates the member's own place in the view, and reports whether it has changed: a new stay begins, or there is
// none any more.
func (s *Standing) Settle() (anew bool) {
	var own Place
	if member, _ := s.View.Of(s.Self); member.Tenure == s.View.Lease.Tenure {
		own = PlaceOf(&member)
	}
	anew = own != s.Place
	s.Place = own
	return anew
}

// Leave ends the stay: the member's lease has run out.
func (s *Standing) Leave() { s.Place, s.early = Place{}, nil }

// Admitted reports whether the newest view has this member in its present tenure.
func (s *Standing) Admitted() bool { return s.View != nil && s.Place.ID != 0 }

// Members lists the members of the view, in order of seniority.
func (s *Standing) Members() (ids []protocol.ID) {
	if s.View == nil {
		return nil
	}
	for i := range s.View.Members {
		ids = append(ids, s.View.Members[i].ID)
	}
	return ids
}

// Others goes through the other members of the view, in order of seniority.
func (s *Standing) Others() iter.Seq[*protocol.Member] {
	return func(yield func(*protocol.Member) bool) {
		if s.View == nil {
			return
		}
		for i := range s.View.Members {
			if member := &s.View.Members[i]; member.ID != s.Self && !yield(member) {
				return
			}
		}
	}
}

// Alone reports whether the view has no other member.
func (s *Standing) Alone() bool {
	for range s.Others() {
		return false
	}
	return true
}

// Tag returns the tag of a message to a peer. There must be a view.
func (s *Standing) Tag() Tag {
	return Tag{View: s.View.Number, Epoch: s.View.Epoch, Tenure: s.Place.Tenure}
}

// TagOf returns the tag of a peer's messages under this view.
func (s *Standing) TagOf(peer Place) Tag {
	return Tag{View: s.View.Number, Epoch: s.View.Epoch, Tenure: peer.Tenure}
}

// Hears reports whether a message is of a peer and of this view. One of a later view waits
// until that is here (Early), and one of any other is void, which is noted.
func (s *Standing) Hears(ev protocol.Event, tag Tag, out *protocol.Effects) bool {
	view := s.View
	if view == nil || tag.Epoch.Counter > view.Epoch.Counter || tag.Epoch == view.Epoch && tag.View > view.Number {
		if len(s.early) < maxEarly {
			s.early = append(s.early, ev)
		}
		return false
	}
	if s.Admitted() && tag.Epoch == view.Epoch && tag.View == view.Number {
		for peer := range s.Others() {
			if peer.ID == ev.From && peer.Tenure == tag.Tenure {
				return true
			}
		}
	}
	out.Note(Ignored{What: fmt.Sprintf("%v from member %d: of another view or tenure", ev.Fact, ev.From)})
	return false
}

// Early returns the messages that have waited for the next view, to be received now. Those that are still too early
// wait again.
func (s *Standing) Early() []protocol.Event {
	early := s.early
	s.early = nil
	return early
}

// Ignored notes a message without effect.
type Ignored struct{ What string }

func (n Ignored) String() string { return "ignored " + n.What }
