package events

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The pauses between two attempts to ask a member.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// patience is how long a member is asked in vain before watchers hear of it: a
// connection that was made anew is no news where nothing has happened meanwhile.
const patience = time.Second

// following is one other member that a gathering asks. The gathering's mutex guards it.
type following struct {
	of     *gathering
	member protocol.Member
	early  bool          // it was in the view when the gathering began
	here   bool          // it is in the newest view
	stirs  chan struct{} // holds one when it is in the view no longer

	running bool          // it is asked, or will be again
	linked  bool          // it sends events
	silent  time.Time     // since when it does not
	settled chan struct{} // closed when it sends, or was asked in vain

	process uint64    // that has sent last; 0 for none
	count   uint64    // of its events, as it has sent last
	at      time.Time // up to when it has sent everything, by its clock; or since when it should
	last    bool      // it has left in good order, by its own word
	missing bool      // watchers know that its events are missing
}

func newFollowing(s *gathering, member protocol.Member, early bool) *following {
	return &following{
		of: s, member: member, early: early, here: true, at: time.Now(),
		stirs: make(chan struct{}, 1), settled: make(chan struct{}),
	}
}

// seen takes note of a view.
func (f *following) seen(view *protocol.View) {
	member, here := view.Of(f.member.ID)
	if here {
		f.member = member
	} else if f.here {
		select {
		case f.stirs <- struct{}{}:
		default: // it is awake
		}
	}
	f.here = here
}

// begin asks the member, now and again.
func (f *following) begin() {
	f.running, f.silent = true, time.Now()
	select {
	case <-f.stirs:
	default: // it was in the view all the time
	}
	f.unsettle()
	f.of.of.work.Go(f.run)
}

func (f *following) settle() {
	select {
	case <-f.settled:
	default:
		close(f.settled)
	}
}

func (f *following) unsettle() {
	select {
	case <-f.settled:
		f.settled = make(chan struct{})
	default: // no caller has an answer yet
	}
}

// run asks the member as long as it is in the view.
func (f *following) run() {
	s := f.of
	interest := &schema.MemberInterest{Space: s.want.Space, Prefix: s.want.Prefix}
	pause := time.Duration(0)
	for {
		s.mu.Lock()
		id, address := f.member.ID, f.member.Address
		s.mu.Unlock()
		err := s.of.peers.Follow(s.life, id, address, interest, f.take)
		reported, goOn := f.broke(err)
		if !goOn {
			return
		}
		if pause = min(max(2*pause, firstPause), lastPause); reported {
			pause = firstPause // it may have missed nothing
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2+1))
		select {
		case <-timer.C:
		case <-f.stirs:
		case <-s.life.Done():
		}
		timer.Stop()
	}
}

// take takes what the member tells.
func (f *following) take(m *schema.MemberEvents) {
	s := f.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if welcome := m.GetWelcome(); welcome != nil {
		f.welcomed(welcome.GetProcess(), m)
	}
	var items []*Item
	for _, item := range m.GetEvents() {
		if e, known := received(item, f.member.Name); known {
			items = append(items, &Item{WatchEvent: e})
		}
	}
	if len(items) > 0 {
		s.of.source.flush()
		s.of.source.spread(items, s.feeds)
	}
	if m.GetAt() != 0 {
		f.at, f.count, f.last = time.Unix(0, m.GetAt()), m.GetCount(), m.GetLast()
	}
}

// welcomed finds out what is missing when the member begins to tell.
func (f *following) welcomed(process uint64, m *schema.MemberEvents) {
	var lost bool
	switch {
	case f.process == 0 && f.early:
		lost = f.missing
	case f.process == process:
		lost = m.GetCount() != f.count
	case f.process == 0 || f.last:
		lost = m.GetCount() > 0
	default:
		lost = true // it is not known how an earlier life of it has ended
	}
	if lost || f.missing {
		f.publishMissing(f.heard(lost, time.Unix(0, m.GetAt())))
	}
	f.process, f.linked, f.missing, f.last = process, true, false, false
	f.settle()
}

// broke takes note that the member sends no more, or has not begun to. Reported says that it
// had begun, goOn that it is to be asked again.
func (f *following) broke(err error) (reported, goOn bool) {
	s := f.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if reported, f.linked = f.linked, false; reported {
		f.silent = time.Now()
		f.unsettle()
	}
	f.running = f.here && s.life.Err() == nil
	if f.running && time.Since(f.silent) < patience {
		return reported, true
	}
	f.settle()
	if !f.missing && !f.last && s.life.Err() == nil {
		f.missing = true
		if err == nil {
			err = errors.New("it has ended the stream")
		}
		s.of.logger.Info("the events of a member are missing", "name", f.member.Name, "address", f.member.Address, "error", err)
		f.publishMissing(f.unheard(f.at))
	}
	return reported, f.running
}
