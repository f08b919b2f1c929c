package grantor

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// The messages between members in addition to those of package authority, all sent as values. A
// question that may be lost is repeated by the member that waits for its answer.
//
//	member → elder          Question                      GrantorRequestMessage
//	elder → member          Info, Depose, Inquiry         GrantorInfoReply, DeposeGrantor, ElderInit
//	member → elder          Deposed, InquiryAnswer        its acknowledgement, ElderInitReply
//	successor → predecessor TransferRequest
//	predecessor → successor TransferTable
//	any member → member     Invite, Invited               succeed, and its refusal
//	not a grantor → holder  NotGrantor
type (
	// Place is a member under one tenure, in all views since one: a role ends with it. The
	// zero Place is no member.
	Place struct {
		ID     protocol.ID
		Tenure protocol.Tenure
		Since  uint64
	}

	// Question is a member's question to the elder, one at a time. Number distinguishes it from all others of the
	// asker's incarnation.
	Question struct {
		Tenure  protocol.Tenure // the asker's
		Number  uint64
		Kind    Kind
		Version authority.Version // Clear, ClearWithLocks, Count: of the asker's reign
		// Clear, ClearWithLocks: the last token given in it. The next reign continues there.
		Reign uint64
		Count uint32
	}

	// Info answers a Question: it names the grantor, and informs the grantor itself how its reign begins.
	Info struct {
		Tenure  protocol.Tenure // the asker's
		Number  uint64
		Grantor Place
		Version authority.Version
		// Left reports, if no member grants, that locks may be left behind.
		Left bool

		Beginning Beginning
		Previous  Place // Inheriting: who has the table
		Reign     uint64
		Count     uint32
	}

	// Depose informs a grantor that another one was named. It is repeated until it is answered, or its receiver has
	// left.
	Depose struct {
		Tenure  protocol.Tenure // the receiver's
		Grantor Place
		Version authority.Version
	}

	// Deposed acknowledges a Depose: its sender grants nothing more.
	Deposed struct {
		Tenure  protocol.Tenure // the sender's
		Version authority.Version
	}

	// Inquiry is a new elder's question to every member: which one grants?
	Inquiry struct{ Epoch protocol.Epoch }

	// InquiryAnswer answers an Inquiry: whether the sender grants, or is about to, under which
	// version, and in which reign its tokens are counted; or the highest version that it has
	// heard of.
	InquiryAnswer struct {
		Tenure  protocol.Tenure // the sender's
		Since   uint64          // as its view has it
		Epoch   protocol.Epoch  // the Inquiry's
		Grants  bool
		Version authority.Version
		Reign   uint64
	}

	// TransferRequest asks a predecessor for a part of its table. Version is that of the reign that continues with it;
	// Chunk counts from 0.
	TransferRequest struct {
		Version authority.Version
		Chunk   uint32
	}

	// TransferTable is a part of a table; None means that there is none.
	TransferTable struct {
		Version  authority.Version
		Chunk    uint32
		None     bool
		Last     bool
		Handover authority.Handover // all but Entries and Unacked is the same in all parts
	}

	// Invite asks a member to become the grantor. Number distinguishes its answer from earlier ones.
	Invite struct {
		Tenure protocol.Tenure // the sender's
		Number uint64
	}

	// Invited answers an Invite: Taken, once its sender is the grantor; not Taken if it will not be.
	Invited struct {
		Tenure protocol.Tenure // the receiver's
		Number uint64
		Taken  bool
		Closed bool // not taken, because the space is closed at the sender
	}

	// NotGrantor refuses a message sent under Version to a member that does not grant under it. Grantor, under Known,
	// is the current one as far as the sender knows; the zero Place if it knows none newer.
	NotGrantor struct {
		Tenure  protocol.Tenure // the holder's
		Version authority.Version
		Grantor Place
		Known   authority.Version
		// Query is the message's number, if it was an operator's: the refusing process, of incarnation By, has not
		// executed it under Version and never will. 0 means none.
		Query uint64
		By    uint64
	}
)

// Kind is the kind of a Question.
type Kind uint8

// The kinds of questions.
const (
	// Get asks which member grants; if there is none, the asker is named.
	Get Kind = iota + 1
	// Peek asks which member grants, and changes nothing.
	Peek
	// Become asks to be named in the place of the member that grants.
	Become
	// Clear reports that the asker grants no more, and that no other member has anything.
	Clear
	// ClearWithLocks reports that the asker grants no more, and that some member has something.
	ClearWithLocks
	// Count asks for another epoch to count tokens in.
	Count
)

var kindNames = [...]string{Get: "get", Peek: "peek", Become: "become", Clear: "clear", ClearWithLocks: "clear with locks", Count: "count"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if k < Get || k > Count {
		return fmt.Sprintf("question %d", uint8(k))
	}
	return kindNames[k]
}

// Beginning is the way in which a reign begins.
type Beginning uint8

// The ways in which a reign begins.
const (
	// Settled: no member holds or waits for anything.
	Settled Beginning = iota + 1
	// Recovering: every member is asked for its holds and waits.
	Recovering
	// Inheriting: by the table of the grantor before.
	Inheriting
)

var beginningNames = [...]string{Settled: "settled", Recovering: "recovering", Inheriting: "inheriting"}

// String returns the way in one word.
func (b Beginning) String() string {
	if b < Settled || b > Inheriting {
		return "-"
	}
	return beginningNames[b]
}

func (p Place) String() string { return fmt.Sprintf("%d", p.ID) }

func (m Question) String() string {
	text := fmt.Sprintf("%v #%d", m.Kind, m.Number)
	if m.Version != (authority.Version{}) {
		text += fmt.Sprintf(" %v", m.Version)
	}
	return text
}

func (m Info) String() string {
	text := fmt.Sprintf("info #%d", m.Number)
	switch {
	case m.Grantor.ID != 0:
		text += fmt.Sprintf(" grantor=%v %v", m.Grantor, m.Version)
	case m.Left:
		text += " no grantor, locks left behind"
	default:
		text += " no grantor"
	}
	if m.Beginning != 0 {
		text += fmt.Sprintf(" %v", m.Beginning)
	}
	if m.Previous.ID != 0 {
		text += fmt.Sprintf(" from %v", m.Previous)
	}
	if m.Reign != 0 {
		text += fmt.Sprintf(" reign=%d", m.Reign)
	}
	return text
}

func (m Depose) String() string { return fmt.Sprintf("depose for %v %v", m.Grantor, m.Version) }

func (m Deposed) String() string { return fmt.Sprintf("deposed %v", m.Version) }

func (m Inquiry) String() string { return fmt.Sprintf("inquiry in epoch %d", m.Epoch.Counter) }

func (m InquiryAnswer) String() string {
	switch {
	case !m.Grants && m.Version == authority.Version{}:
		return "inquiry answer: no grantor"
	case !m.Grants:
		return fmt.Sprintf("inquiry answer: no grantor, heard of %v", m.Version)
	}
	return fmt.Sprintf("inquiry answer: grantor %v reign=%d", m.Version, m.Reign)
}

func (m TransferRequest) String() string {
	return fmt.Sprintf("transfer request %d %v", m.Chunk, m.Version)
}

func (m TransferTable) String() string {
	if m.None {
		return fmt.Sprintf("transfer table %v: none", m.Version)
	}
	text := fmt.Sprintf("transfer table %d %v: %d entries, %d unacked", m.Chunk, m.Version, len(m.Handover.Entries), len(m.Handover.Unacked))
	if m.Last {
		text += ", last"
	}
	return text
}

func (m Invite) String() string { return fmt.Sprintf("invite #%d", m.Number) }

func (m Invited) String() string {
	if m.Taken {
		return fmt.Sprintf("invited #%d: taken", m.Number)
	}
	if m.Closed {
		return fmt.Sprintf("invited #%d: refused, closed here", m.Number)
	}
	return fmt.Sprintf("invited #%d: refused", m.Number)
}

func (m NotGrantor) String() string {
	text := fmt.Sprintf("not grantor %v", m.Version)
	if m.Grantor.ID != 0 {
		text += fmt.Sprintf(", but %v %v", m.Grantor, m.Known)
	}
	if m.Query != 0 {
		text += fmt.Sprintf(", ask %d not executed", m.Query)
	}
	return text
}
