package unordered

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// contested is what all users want.
const contested = "X"

// digest names what a state is made of, and a state: 128 bits of what it is.
type digest [16]byte

// world is a state. What it is made of is shared with other states and never changed.
type world struct {
	members  []*member
	transit  []*parcel // in any order those of which none is, by their names; then link by link, in turn
	users    []user
	requests int            // that there may still be
	highest  holdfast.Token // of all exclusive grants that were reported
	crashed  int            // whose place it is, from 1; 0 while no member has crashed
	views    []knowledge    // what each member knows of that
}

// member is a machine as it is between two steps.
type member struct {
	id      protocol.ID
	machine protocol.Machine
	name    digest // of what can matter
	full    digest // of all
}

// parcel is a message that is under way.
type parcel struct {
	from, to int
	message  protocol.Message
	turn     bool   // it is not taken before what was sent before it on its way
	name     digest // of what can matter
	full     digest // of all
}

// compare orders parcels, but for those of one link that are taken in turn.
func (p *parcel) compare(o *parcel) int {
	switch {
	case p.turn != o.turn && p.turn:
		return 1
	case p.turn != o.turn:
		return -1
	case p.turn:
		return cmp.Or(cmp.Compare(p.from, o.from), cmp.Compare(p.to, o.to))
	}
	return bytes.Compare(p.name[:], o.name[:])
}

type user struct {
	phase   phase
	calls   uint8 // that it may still begin
	request uint64
	token   holdfast.Token
}

type phase uint8

const (
	idle phase = iota
	waiting
	holding
	lingering // its member has crashed, and it may hold until that is known
	gone      // with its member
)

// holds reports whether a user may believe that it holds.
func (u *user) holds() bool { return u.phase == holding || u.phase == lingering }

// clone returns a state that may be changed, down to the lists.
func (w *world) clone() *world {
	c := *w
	c.members, c.transit, c.users, c.views = slices.Clone(w.members), slices.Clone(w.transit), slices.Clone(w.users), slices.Clone(w.views)
	return &c
}

// action is one thing that can happen.
type action struct {
	kind deed
	at   int // which parcel, user or member
}

type deed uint8

const (
	arrival deed = iota
	request      // a user asks or gives back
	crash        // of a member
	viewing      // a member learns of it
)

// actions lists what can happen, what need not happen last. Of messages that are alike one is
// enough.
func (e *engine) actions(w *world) (all []action) {
	for i, p := range w.transit {
		if i == 0 || p.turn && p.compare(w.transit[i-1]) != 0 || !p.turn && p.name != w.transit[i-1].name {
			all = append(all, action{arrival, i})
		}
	}
	for i := range w.users {
		if u := &w.users[i]; u.phase == holding || u.phase == idle && u.calls > 0 && w.requests > 0 {
			all = append(all, action{request, i})
		}
	}
	for i := range w.members {
		if w.learns(i) {
			all = append(all, action{viewing, i})
		}
	}
	if w.crashed == 0 && e.config.Crashes > 0 {
		for i := range w.members {
			all = append(all, action{crash, i})
		}
	}
	return all
}

// rests reports whether nothing happens any more by itself.
func rests(all []action) bool { return len(all) == 0 || all[0].kind == crash }

// post puts a parcel on its way.
func (w *world) post(p *parcel) {
	at, _ := slices.BinarySearchFunc(w.transit, p, func(a, b *parcel) int {
		if a.compare(b) <= 0 {
			return -1
		}
		return 1
	})
	w.transit = slices.Insert(w.transit, at, p)
}

// name is the digest of a state.
func (w *world) name() digest {
	text := make([]byte, 0, 256)
	for _, m := range w.members {
		text = append(text, m.name[:]...)
	}
	for _, u := range w.users {
		text = append(text, byte(u.phase), u.calls)
		text = binary.AppendUvarint(text, uint64(u.token))
	}
	text = binary.AppendUvarint(text, uint64(w.highest))
	text = append(text, byte(w.crashed))
	for _, k := range w.views {
		text = append(text, byte(k))
	}
	for _, p := range w.transit {
		text = append(text, p.name[:]...)
	}
	sum := sha256.Sum256(text)
	return digest(sum[:16])
}

// describe says what an action is.
func (e *engine) describe(w *world, a action) string {
	switch a.kind {
	case arrival:
		p := w.transit[a.at]
		return fmt.Sprintf("m%d→m%d arrives: %s", p.from+1, p.to+1, e.names.Replace(fmt.Sprint(p.message)))
	case crash:
		return fmt.Sprintf("m%d crashes", a.at+1)
	case viewing:
		if w.views[a.at] == unaware {
			return fmt.Sprintf("m%d takes the view without m%d", a.at+1, w.crashed)
		}
		return fmt.Sprintf("m%d learns that the view without m%d is open", a.at+1, w.crashed)
	}
	if u := &w.users[a.at]; u.phase == holding {
		return fmt.Sprintf("user %d gives back what it holds under token %d", a.at+1, u.token)
	}
	return fmt.Sprintf("user %d asks", a.at+1)
}
