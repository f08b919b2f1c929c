package lock

import "slices"

// Attachment is a client that uses a session over a stream, and its place among those that have used it.
type Attachment struct {
	// Client is the number that the client has drawn at random when it opened the session, or resumed it. 0 is that
	// of a client that draws none.
	Client uint64
	// Generation is 1 for the client that has opened the session, and higher by one for each that takes it over.
	Generation uint64
}

// Before reports whether b has taken the session over later than a. Of two that do so at the same time, through two members,
// the one with the higher number counts as the later one.
func (a Attachment) Before(b Attachment) bool {
	if a.Generation != b.Generation {
		return a.Generation < b.Generation
	}
	return a.Client < b.Client
}

// MostFormer is how many former clients of a session are remembered by their numbers.
const MostFormer = 4

// Attachments are the client that a session is attached to, and the latest ones before it. The zero value is that of a session
// that no client with a number has used. A value is never changed by its methods.
type Attachments struct {
	Attachment
	// Former are the numbers of the clients before, the latest first; 0 is none. By its generation every former client is
	// known; by its number, one whose hello comes late that it sent before it had a generation.
	Former [MostFormer]uint64
}

// Claim returns what the attachments are when a client resumes the session that has the generation; 0 is that of a client
// that has had no answer yet. It reports false where that client is a former one, or was already taken over elsewhere: then
// the session is not its own any more, and the attachments stay as they are. A client without a number changes nothing.
func (a Attachments) Claim(client, generation uint64) (next Attachments, ok bool) {
	switch {
	case client == 0, generation == 0 && client == a.Client:
		return a, true
	case generation == 0 && slices.Contains(a.Former[:], client):
		return a, false
	case generation == 0:
		generation = a.Generation + 1
	}
	claimed := Attachment{client, generation}
	if claimed.Before(a.Attachment) {
		return a, false
	}
	return a.Join(Attachments{Attachment: claimed}), true
}

// Join returns the attachments of a session of which two places know different ones: the later client, and the former ones of
// both.
func (a Attachments) Join(b Attachments) Attachments {
	if a.Attachment.Before(b.Attachment) {
		a, b = b, a
	}
	joined := Attachments{Attachment: a.Attachment}
	former := joined.Former[:0]
	for _, clients := range [...][]uint64{a.Former[:], {b.Client}, b.Former[:]} {
		for _, client := range clients {
			if client != 0 && client != a.Client && len(former) < MostFormer && !slices.Contains(former, client) {
				former = append(former, client)
			}
		}
	}
	return joined
}
