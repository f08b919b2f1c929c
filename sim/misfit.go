package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// misfit is the setting in which a member differs from all others.
type misfit uint8

const (
	fits misfit = iota
	otherSpace
	otherLease
	otherDrift
	otherVersion
)

var misfitNames = [...]string{"like the others", "with another definition of the space", "with another lease", "with another drift", "of another version"}

func (f misfit) String() string { return misfitNames[f] }

// spoil changes the setting of a member.
func (f misfit) spoil(node *Node) {
	switch f {
	case otherSpace:
		node.Protocol = "another"
	case otherLease:
		node.Lease += time.Second
	case otherDrift:
		node.Drift += 0.01
	case otherVersion:
		node.Newer = true
	}
}

// values are the two values that the refusal of a misfit names: that of the others, and its own. A member of a newer
// version believes its own version to be the normal one, and the others to be older.
func (f misfit) values(s *settings) (theirs, ours string) {
	switch f {
	case otherSpace:
		return "default " + s.protocol, "default another"
	case otherLease:
		return s.lease.String(), (s.lease + time.Second).String()
	case otherDrift:
		return fmt.Sprint(s.drift), fmt.Sprint(s.drift + 0.01)
	}
	return fmt.Sprint(membership.ProtocolVersion - 1), fmt.Sprint(membership.ProtocolVersion)
}

// misfits are the words for the settings, from otherSpace on.
var misfits = [...]string{"space", "lease", "drift", "version"}

// misconfigure ends a member and restarts it with another setting: a guest, or a founder if no other founder has one. A
// minority may be wrong, and the others must not suffer from it.
func (n *nemesis) misconfigure() {
	w := n.world
	m := n.member("member")
	wrong := func(o *process) bool { return o != m && o.founder && (o.misfit != fits || o.wrong != fits) }
	if w.settings.founders < 3 && m.founder {
		return // no member is there to report the misfit
	}
	if m.gone || m.founder && slices.ContainsFunc(w.members, wrong) {
		return
	}
	m.misfit = otherSpace + misfit(w.among("of", 0, misfits[:]))
	w.befall(Misfit, 0, []string{m.name}, "%s will be %v", m, m.misfit)
	if m.up {
		n.kill(m)
	}
}

// refused handles a member that is refused. A member with a different setting must get an error with both values, and
// no other member may be refused because of it. If two founders disagree, neither side knows which is wrong.
func (w *world) refused(m *process, err error) {
	text := err.Error()
	disagrees := strings.Contains(text, "must agree") || strings.Contains(text, "refuses this member")
	switch {
	case !disagrees:
	case m.wrong != fits:
		w.hit(Misfit)
		if theirs, ours := m.wrong.values(&w.settings); !strings.Contains(text, theirs) || !strings.Contains(text, ours) {
			w.judge.violate("P10", "%s, which is %v, is refused without both values, %q and %q: %v", m, m.wrong, theirs, ours, err)
		}
	case w.settings.founders > 2:
		w.judge.violate("P10", "%s is configured like most, and is refused: %v", m, err)
	}
}

// newer is the membership of a later version of the protocol: it sends its version as one more, and receives others' as
// one less. To itself it is the normal version.
type newer struct{ *membership.Machine }

// Step translates incoming and outgoing messages.
func (n *newer) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind == protocol.Receive {
		ev.Fact = translated(ev.Fact, -1)
	}
	sent := len(out.Sends)
	n.Machine.Step(now, ev, out)
	for i := range out.Sends[sent:] {
		e := &out.Sends[sent+i]
		e.Message = translated(e.Message, 1).(protocol.Message)
	}
}

// translated is a message with other versions in it.
func translated(fact any, by int) any {
	switch m := fact.(type) {
	case election.StatusAnswer:
		m.Terms, m.View = termsAs(m.Terms, by), versionAs(m.View, by)
		return m
	case election.Election:
		m.Terms, m.View = termsAs(m.Terms, by), versionAs(m.View, by)
		return m
	case election.Promise:
		m.Accepted = versionAs(m.Accepted, by)
		return m
	case election.Refuse:
		m.View = versionAs(m.View, by)
		return m
	case membership.NewView:
		m.View = versionAs(m.View, by)
		return m
	case membership.Join:
		m.Version = uint32(int(m.Version) + by)
		return m
	case membership.Unwelcome:
		if strings.Contains(m.What, "version") {
			m.Ours, m.Yours = numberAs(m.Ours, by), numberAs(m.Yours, by)
		}
		return m
	case storage.Save:
		if cell, err := membership.DecodeCell(m.Data); err == nil {
			cell.Accepted = versionAs(cell.Accepted, by)
			m.Data = cell.Encode()
		}
		return m
	}
	return fact
}

// versionAs is a view with another version in its terms.
func versionAs(v *election.View, by int) *election.View {
	if v == nil {
		return nil
	}
	other := *v
	other.Terms = termsAs(v.Terms, by)
	return &other
}

func termsAs(terms []string, by int) []string {
	terms = slices.Clone(terms)
	for i, line := range terms {
		if number, is := strings.CutPrefix(line, "version "); is {
			terms[i] = "version " + numberAs(number, by)
		}
	}
	return terms
}

func numberAs(text string, by int) string {
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil {
		return text
	}
	return fmt.Sprint(n + by)
}
