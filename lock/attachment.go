package lock

import "slices"

// Attachment is a client that uses a session over a stream, and its place in the sequence of such clients.
type Attachment struct {
	// Client is the random number that the client drew when it opened or resumed the session. 0 is a client that draws
	// none.
	Client uint64
	// Generation is 1 for the client that opened the session, and higher by one for each that takes it over.
	Generation uint64
}

// Before reports whether b has taken over the session later than a. Of two that do so at the same time, through two
// members, the one with the higher number counts as the later one.
func (a Attachment) Before(b Attachment) bool {
	if a.Generation != b.Generation {
		return a.Generation < b.Generation
	}
	return a.Client < b.Client
}

// MostFormer is how many former clients of a session are remembered by number.
const MostFormer = 4

// Attachments are the client that a session is attached to, and the latest ones before it. The zero value is a session
// that no client with a number has used. Methods never change a value.
type Attachments struct {
	Attachment
	// Former are the numbers of the previous clients, the latest first; 0 is none. Generations identify every former
	// client; the numbers identify one whose late hello was sent before it had a generation.
	Former [MostFormer]uint64
}

// Claim returns the attachments after a client resumes the session with the generation; 0 is a client that has had no
// answer yet. It reports false if that client is a former one, or was already taken over elsewhere: then the session is
// no longer its own, and the attachments do not change. A client without a number changes nothing.
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

// Join merges two places' attachments of one session: the later client, and the former ones of both.
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
