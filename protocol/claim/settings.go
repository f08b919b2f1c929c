package claim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// A process that claims must wait as long as all others do, for claims that expire when those of all
// others do. So the settings stand in the store next to the locks, in a row of columns:
//
//	"agreed SETTINGS" 0 rid # number    these hold
//	"asked SETTINGS" 0 rid # number     a process is about to agree to these
//	"changed"                           others held before, and were removed
//
// A process that starts reads the row, and compares with what holds. Where nothing does, it asks, reads
// again, and agrees if no other process asks for anything else; otherwise it takes its question back and
// begins anew. Of two who ask for different things the one that reads last sees both, so they do not both
// agree; and a process that comes later sees what was agreed. It would not do to take what is asked for
// what holds: that may be taken back. No column is written twice, because some stores remember deletions.

// agreement is whether the other users of the store have the same settings.
type agreement struct {
	accepted   bool
	refusal    error         // why not: another process has other settings
	trouble    error         // why that is not known
	step       step          // the write in progress
	alone      bool          // no other process asked when ours was there: it is agreed, as soon as it is written
	proposedAt protocol.Time // when the present question was sent
	due        protocol.Time // when to ask again
	pause      protocol.Time
}

// questionLife is how long a question of an ended process stays, if the store expires columns: without an end it would
// keep all others from agreeing on anything else.
const questionLife = time.Minute

// step is one on the way to an agreement.
type step uint8

const (
	proposing step = iota + 1
	accepting
	withdrawing
)

const acceptedPrefix, proposedPrefix = "agreed ", "asked "

// changedColumn stays permanently in a store in which settings were removed. Rows may then have the tokens of both ways
// to lock, the mark of claims and the cell of CAS, and each token is above both. Claims read the whole row anyway; with
// CAS it is read once, before the first swap of a name, and only if this column exists.
const changedColumn = "changed"

// settingsColumn is the name of a column of the row, and parseSettings reads it.
func (m *Machine) settingsColumn(prefix, number string) string {
	return prefix + m.config.Settings() + "\x00" + m.config.RID + "#" + number
}

func parseSettings(column string) (prefix, settings, rid, number string) {
	text, by, _ := strings.Cut(column, "\x00")
	prefix = proposedPrefix
	if strings.HasPrefix(text, acceptedPrefix) {
		prefix = acceptedPrefix
	}
	i := max(0, strings.LastIndexByte(by, '#'))
	return prefix, strings.TrimPrefix(text, prefix), by[:i], by[min(len(by), i+1):]
}

// readSettings asks for the settings of the others.
func (m *Machine) readSettings(now protocol.Time, out *protocol.Effects) {
	m.agreement.due = protocol.Never
	out.Send(protocol.Storage, storage.Slice{ID: m.inquire(now, inquirySettings, nil, nil, 0), Key: SettingsRow})
}

// onSettings compares.
func (m *Machine) onSettings(now protocol.Time, read storage.Sliced, out *protocol.Effects) {
	if read.Err != nil {
		m.retryAgreement(now, read.Err, out)
		return
	}
	ours, other, proposed := m.config.Settings(), "", []string(nil)
	m.changed = slices.ContainsFunc(read.Entries, func(e storage.Entry) bool { return e.Column == changedColumn })
	for i := range read.Entries {
		if read.Entries[i].Column == changedColumn {
			continue
		}
		prefix, settings, rid, _ := parseSettings(read.Entries[i].Column)
		switch {
		case prefix == acceptedPrefix && settings == ours:
			m.accept(now, out)
			return
		case prefix == acceptedPrefix: // they come first
			m.withdraw(now, read.Entries, out)
			m.agreement.refusal = m.otherwise(settings)
			m.refuseRequests(now, m.agreement.refusal, out)
			return
		case rid == m.config.RID:
			proposed = append(proposed, read.Entries[i].Column)
		case settings != ours:
			other = settings
		}
	}
	switch {
	case other != "" && (!m.agreement.alone || len(proposed) == 0):
		if !m.withdraw(now, read.Entries, out) {
			m.retryAgreement(now, fmt.Errorf("another process is about to write its settings: %w", m.otherwise(other)), out)
		}
	case len(proposed) == 0:
		m.agreement.step, m.agreement.alone = proposing, false
		column := m.settingsColumn(proposedPrefix, strconv.FormatUint(m.lastInquiry+1, 10))
		m.agreement.proposedAt = now
		m.writeSettings(now, []storage.Entry{{Column: column, Value: m.config.RID}}, nil, out)
	case now-m.agreement.proposedAt > questionLife/2:
		m.withdraw(now, read.Entries, out) // others may not see it any more by the time that it is agreed
	default:
		m.agreement.step, m.agreement.alone = accepting, true
		_, _, _, number := parseSettings(proposed[0])
		m.writeSettings(now, []storage.Entry{{Column: m.settingsColumn(acceptedPrefix, number), Value: m.config.RID}}, proposed, out)
	}
}

// otherwise returns the error for different settings of others.
func (m *Machine) otherwise(theirs string) error {
	return fmt.Errorf("%w: the locks in this store have the settings %q, and this process has %q; start it with the store's settings or, when the locks are not in use, remove them (holdfast store forget-settings; Go: storelock.ForgetSettings)",
		holdfast.ErrConflict, theirs, m.config.Settings())
}

// writeSettings writes the row of the settings, under its only timestamp.
func (m *Machine) writeSettings(now protocol.Time, add []storage.Entry, del []string, out *protocol.Effects) {
	mutate := storage.Mutate{ID: m.inquire(now, inquiryAgreement, nil, nil, 0), Key: SettingsRow, Timestamp: 1, Additions: add, Deletions: del}
	if m.agreement.step == proposing && m.config.Store.TTL {
		mutate.TTL = questionLife
	}
	out.Send(protocol.Storage, mutate)
}

// withdraw withdraws this process's question, and reports whether there was one.
func (m *Machine) withdraw(now protocol.Time, row []storage.Entry, out *protocol.Effects) bool {
	var own []string
	for i := range row {
		if prefix, _, rid, _ := parseSettings(row[i].Column); prefix == proposedPrefix && rid == m.config.RID {
			own = append(own, row[i].Column)
		}
	}
	if len(own) == 0 {
		return false
	}
	m.agreement.step = withdrawing
	m.writeSettings(now, nil, own, out)
	return true
}

// accept starts accepting requests.
func (m *Machine) accept(now protocol.Time, out *protocol.Effects) {
	a := &m.agreement
	a.accepted, a.refusal, a.trouble, a.pause = true, nil, nil, 0
	out.Note(protocol.Serving{})
	m.resume(now, out)
}

// onAgreementWritten continues with the next step.
func (m *Machine) onAgreementWritten(now protocol.Time, err error, out *protocol.Effects) {
	a := &m.agreement
	switch {
	case a.refusal != nil:
	case a.step == withdrawing && !errors.Is(err, storage.ErrInvalid):
		a.pause = protocol.Longer(a.pause, m.config.Wait)
		a.due = now + m.jitter(a.pause)
	case err != nil:
		m.retryAgreement(now, err, out)
	case a.step == accepting:
		m.accept(now, out)
	default:
		m.readSettings(now, out)
	}
}

// retryAgreement asks again later: the others' settings are unknown.
func (m *Machine) retryAgreement(now protocol.Time, err error, out *protocol.Effects) {
	a := &m.agreement
	a.trouble = fmt.Errorf("%w: the lock settings in this store cannot be read: %w", holdfast.ErrUnavailable, err)
	if errors.Is(err, storage.ErrInvalid) {
		a.refusal = a.trouble
		m.refuseRequests(now, a.refusal, out)
		return
	}
	a.pause = protocol.Longer(a.pause, m.config.Wait)
	a.due = now + m.jitter(a.pause)
}

func (m *Machine) refuseRequests(now protocol.Time, err error, out *protocol.Effects) {
	out.Note(Refused{Group: m.config.Group, Err: err})
	for _, r := range m.clients.Waiting() {
		if !r.Dropped {
			m.clients.Deny(now, r, err, out)
		}
	}
}

// Written is a process's settings as stored next to the locks.
type Written struct {
	Settings string
	Accepted bool   // they hold; otherwise that process is about to agree to them, or has ended before it could
	RID      string // of the process
}

// ReadSettings returns the settings in a Slice of the row.
func ReadSettings(entries []storage.Entry) []Written {
	var all []Written
	for i := range entries {
		if entries[i].Column == changedColumn {
			continue
		}
		prefix, settings, rid, _ := parseSettings(entries[i].Column)
		all = append(all, Written{Settings: settings, Accepted: prefix == acceptedPrefix, RID: rid})
	}
	return all
}

// ForgetSettings returns a mutation that removes the settings in a Slice of the row: use it to change them, while no
// process uses the locks.
func ForgetSettings(entries []storage.Entry) *storage.Mutate {
	m := &storage.Mutate{Key: SettingsRow, Timestamp: 1, Additions: []storage.Entry{{Column: changedColumn, Value: "1"}}}
	for i := range entries {
		if entries[i].Column != changedColumn {
			m.Deletions = append(m.Deletions, entries[i].Column)
		}
	}
	return m
}
