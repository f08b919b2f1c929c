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

// contested is the name that all users want.
const contested = "X"

// digest names a state or a part of one: 128 bits.
type digest [16]byte

// world is a state. Its parts are shared with other states and never changed.
type world struct {
	members  []*member
	transit  []*parcel // those in any order, by name; then link by link, in turn
	users    []user
	requests int            // number of requests left
	highest  holdfast.Token // of all reported exclusive grants
	crashed  int            // the place of the crashed member, from 1; 0 while none has crashed
	views    []knowledge    // each member's knowledge of the crash
}

// member is a machine between two steps.
type member struct {
	id      protocol.ID
	machine protocol.Machine
	name    digest // of the part that can matter
	full    digest // of everything
}

// parcel is a message in flight.
type parcel struct {
	from, to int
	message  protocol.Message
	turn     bool   // it is not taken before earlier messages of its link
	name     digest // of the part that can matter
	full     digest // of everything
}

// compare orders parcels, except those of one link that are taken in turn.
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
	calls   uint8 // number of locks left to ask for
	request uint64
	token   holdfast.Token
}

type phase uint8

const (
	idle phase = iota
	waiting
	holding
	lingering // its member has crashed, and it may hold until that is known
	gone      // gone with its member
)

// holds reports whether a user may believe that it holds.
func (u *user) holds() bool { return u.phase == holding || u.phase == lingering }

// clone returns a state with lists of its own, which may be changed.
func (w *world) clone() *world {
	c := *w
	c.members, c.transit, c.users, c.views = slices.Clone(w.members), slices.Clone(w.transit), slices.Clone(w.users), slices.Clone(w.views)
	return &c
}

// action is a possible event.
type action struct {
	kind deed
	at   int // index of a parcel, user or member
}

type deed uint8

const (
	arrival deed = iota
	request      // a user asks or unlocks
	crash        // of a member
	viewing      // a member learns of it
)

// actions lists the possible actions, the optional ones last. Identical messages count once.
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

// rests reports whether no mandatory action is left.
func rests(all []action) bool { return len(all) == 0 || all[0].kind == crash }

// post puts a parcel in flight.
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

// describe describes an action.
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
