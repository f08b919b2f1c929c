package authority

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// The messages between the roles of different members, all sent as values. Between
// the two roles of one member nothing is sent.
//
//	holder → authority   Acquire Release Extend Amend EndSession Query InfoAnswer Acks Revalidate
//	authority → holder   Decided Answer InfoRequest Acks
//
// A holder asks the authority for what its client has requested, under a sequence number of its
// own (Seq): lapses·2⁴⁰ + count, which its member's incarnation never uses again. A holder
// that asks for the same thing again, after an end or after a lapse, takes another number. So no
// copy of an old message can be about a new request (V21, V22).
type (
	// Stamp is the start of every message: it distinguishes old from new. A message of another epoch than the
	// receiver's, or of or to another tenure, is void, and nothing is lost with it: a member that waits for an answer
	// repeats.
	Stamp struct {
		Epoch protocol.Epoch
		// Version is the reign's. With it a holder's message needs no epoch if reigns outlive epochs.
		Version Version
		// Tenure is the holder's, in both directions.
		Tenure protocol.Tenure
		// Acks, from an authority, are requests: their release has been executed, nothing of
		// them is left. From a holder they are decisions (Decided.AckID) that it has heard.
		Acks []uint64
		// Known, from an authority, confirms that it knows the holder's whole report in this epoch.
		Known bool
	}

	// Ended is a request that is to end, or has.
	Ended struct {
		Session lock.SessionID
		Seq     uint64
	}

	// Released is a request that has ended, and the highest token that its member has given by
	// itself under its grant; 0 for none.
	Released struct {
		Ended
		Last holdfast.Token
	}

	// Acquire asks for a name: the original's GRANT_LOCK. It is repeated until a Decided
	// has answered it.
	Acquire struct {
		Stamp
		// Entry is the requested lock: Request is the number of the request, Age the time since it was made, Left the
		// rest of its wait, Hold its hold limit, Try as in lock.Request.
		Entry lock.Entry
		// After are requests for the same name whose release is under way, and comes first.
		After []Released
		// Low is the lowest request of the sender's that no authority has answered yet.
		Low uint64
	}

	// Release ends a request permanently, granted or not: RELEASE_LOCK, forced or not. It is repeated until it is
	// acknowledged, whether or not anything was left to release.
	//
	// Last is as in Released. Awaited means that a client waits for the acknowledgement: it is sent at once, and not
	// with the next message.
	Release struct {
		Stamp
		Ended
		Name    string
		Last    holdfast.Token
		Awaited bool
	}

	// Extend replaces the hold limit of a request's grant; 0 removes it. Repeated or late it does no harm, because it
	// never shortens: a holder whose shorter limit has passed releases. Number distinguishes its answer from earlier
	// ones.
	Extend struct {
		Stamp
		Ended
		Name   string
		Token  holdfast.Token
		Hold   time.Duration
		Number uint64
	}

	// Amend amends the grant of a request. Repeated or late it does no harm, because of its revision. It is repeated
	// until a Decided answers it.
	Amend struct {
		Stamp
		Ended
		Name string
		lock.Amendment
	}

	// EndSession ends all requests of a session. It is repeated until Seq, a separate number, is acknowledged.
	EndSession struct {
		Stamp
		Ended
		Why holdfast.Loss
	}

	// Decided reports the outcome of a request: LOCK_GRANTED, LOCK_DENIED, LOCK_REVOKED. An answer is repeated as often
	// as it is requested; a grant, and an unrequested decision, is repeated until it is acknowledged or its request
	// released.
	Decided struct {
		Stamp
		Ended
		Kind     lock.Kind // Granted Queued Refused Lost Revoked Amended
		Name     string
		Token    holdfast.Token
		Hold     time.Duration // Granted: counted from when the request was made (Age); 0 none
		Position int           // Queued: how many wait before it
		Loss     holdfast.Loss // Lost, Revoked
		Err      error         // Refused
		// Keep, with Granted, means that the member may keep the grant when its client has released it, and lend it to
		// others. The grant repeated without it is a recall: return it as soon as it is unused. A grant that was not
		// given with Keep never gets it.
		Keep bool
		// Extension is the Number of the Extend that this answers; 0 if it answers none.
		Extension uint64
		// Amendment, if this answers an Amend, is the revision in force with Amended, and the refused one with Refused; 0
		// if it answers none.
		Amendment uint64
		// AckID is an authority's number for the acknowledgement of this message; it is repeated until then. 0 for an
		// answer that is given once.
		AckID uint64
	}

	// InfoRequest asks a holder for a part of its clients' holds and waits: LOCK_INFO_REQ. Chunk counts from 0. It is
	// repeated until it is answered.
	InfoRequest struct {
		Stamp
		Chunk uint32
	}

	// InfoAnswer is a part of a holder's report: LOCK_INFO_RSP. An entry with a token is
	// held, any other waits; its Request is the number of the request. What is being released is
	// reported as that alone (H4).
	InfoAnswer struct {
		Stamp
		Chunk    uint32
		Last     bool
		Entries  []lock.Entry
		Released []Ended
	}

	// Acks carries acknowledgements that found no other message to ride on. View is that of
	// the Revalidate which it answers; 0 for none.
	Acks struct {
		Stamp
		View uint64
	}

	// Revalidate asks the authority to confirm, under the view's new epoch, that it knows all holds of the holder's
	// tenure; any message with Known does. It is sent if a reign has outlived its epoch, and repeated until it is
	// answered. It also asks whether the authority still is one, under the sender's view: it is answered under that
	// view or a later one.
	Revalidate struct {
		Stamp
		View uint64
	}

	// Query is an operator's call that the authority must answer. A Break is executed once.
	Query struct {
		Stamp
		admin.Query
	}

	// Answer answers a Query.
	Answer struct {
		Stamp
		admin.Answer
	}
)

func (s Stamp) String() string {
	text := fmt.Sprintf("e%d t%d.%d", s.Epoch.Counter, s.Tenure.Incarnation, s.Tenure.Lapses)
	if s.Version.Number > 0 {
		text = fmt.Sprintf("%v ", s.Version) + text
	}
	if len(s.Acks) > 0 {
		text += " acks"
		for _, ack := range s.Acks {
			text += " " + strings.TrimPrefix(number(ack), "w")
		}
	}
	if s.Known {
		text += " known"
	}
	return text
}

// Stamped returns the message's stamp.
func (s Stamp) Stamped() Stamp { return s }

func (e Ended) String() string { return fmt.Sprintf("%v %s", e.Session, number(e.Seq)) }

func (m Acquire) String() string {
	text := fmt.Sprintf("acquire %v %s %q", m.Entry.Session, number(m.Entry.Request), m.Entry.Name)
	for _, released := range m.After {
		text += fmt.Sprintf(" after %s", number(released.Seq)) + lastUsed(released.Last)
	}
	return text + " · " + m.Stamp.String()
}

func (m Release) String() string {
	text := fmt.Sprintf("release %v %q%s", m.Ended, m.Name, lastUsed(m.Last))
	if m.Awaited {
		text += " awaited"
	}
	return text + " · " + m.Stamp.String()
}

// lastUsed codes how far a member has counted by itself.
func lastUsed(last holdfast.Token) string {
	if last == 0 {
		return ""
	}
	return fmt.Sprintf(" last=%d:%d", last>>32, last&(1<<32-1))
}

func (m Extend) String() string {
	return fmt.Sprintf("extend %v %q hold=%v · %v", m.Ended, m.Name, m.Hold, m.Stamp)
}

func (m Amend) String() string {
	return fmt.Sprintf("amend %v %q revision=%d value=%q · %v", m.Ended, m.Name, m.Revision, m.Value, m.Stamp)
}

func (m EndSession) String() string { return fmt.Sprintf("end session %v · %v", m.Ended, m.Stamp) }

func (m Decided) String() string {
	text := fmt.Sprintf("%v %v %q", m.Kind, m.Ended, m.Name)
	switch m.Kind {
	case lock.Granted:
		text += fmt.Sprintf(" token=%d:%d", m.Token>>32, m.Token&(1<<32-1))
		if m.Keep {
			text += " keep"
		}
	case lock.Amended:
		text += fmt.Sprintf(" revision=%d", m.Amendment)
	case lock.Queued:
		text += fmt.Sprintf(" position=%d", m.Position)
	case lock.Refused:
		text += fmt.Sprintf(" (%v)", m.Err)
	case lock.Lost, lock.Revoked:
		text += " why=" + string(m.Loss)
	}
	return text + " · " + m.Stamp.String()
}

func (m InfoRequest) String() string { return fmt.Sprintf("info request %d · %v", m.Chunk, m.Stamp) }

func (m InfoAnswer) String() string {
	text := fmt.Sprintf("info answer %d", m.Chunk)
	if m.Last {
		text += " last"
	}
	for i := range m.Entries {
		status := "waits"
		if m.Entries[i].Token != 0 {
			status = "held"
		}
		if i == shownEntries {
			text += fmt.Sprintf(" … %d more", len(m.Entries)-i)
			break
		}
		text += fmt.Sprintf(" %s %q %s", number(m.Entries[i].Request), m.Entries[i].Name, status)
	}
	for _, ended := range m.Released {
		text += fmt.Sprintf(" %s released", number(ended.Seq))
	}
	return text + " · " + m.Stamp.String()
}

// String renders a version as v7.2: the second of epoch 7.
func (v Version) String() string { return fmt.Sprintf("v%d.%d", v.Epoch, v.Number) }

// shownEntries is how much of a report a trace shows.
const shownEntries = 4

func (m Acks) String() string {
	if m.View != 0 {
		return fmt.Sprintf("acks view=%d · %v", m.View, m.Stamp)
	}
	return fmt.Sprintf("acks · %v", m.Stamp)
}

func (m Revalidate) String() string { return fmt.Sprintf("revalidate view=%d · %v", m.View, m.Stamp) }

func (m Query) String() string { return fmt.Sprintf("%v · %v", m.Query, m.Stamp) }

func (m Answer) String() string { return fmt.Sprintf("%v · %v", m.Answer, m.Stamp) }

// number renders the number of a request.
func number(seq uint64) string { return protocol.FormatNumber("w", seq) }
