package events

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The pauses between two connection attempts to a member.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// patience is how long a member may be unreachable before watchers learn of it: a reconnection without lost events is
// no news.
const patience = time.Second

// following is one other member that a gathering subscribes to. The gathering's mutex guards it.
type following struct {
	of     *gathering
	member protocol.Member
	early  bool          // in the view when the gathering began
	here   bool          // in the newest view
	stirs  chan struct{} // holds one when it is no longer in the view

	running bool          // its goroutine runs
	linked  bool          // it sends events
	silent  time.Time     // since when it does not
	settled chan struct{} // closed when it sends, or did not answer

	process uint64    // the process that sent last; 0 for none
	count   uint64    // of its events, as last sent
	at      time.Time // up to when it has sent everything, by its clock; or since when it should have
	last    bool      // it has left in good order, as it reported itself
	missing bool      // watchers know that its events are missing
}

func newFollowing(s *gathering, member protocol.Member, early bool) *following {
	return &following{
		of: s, member: member, early: early, here: true, at: time.Now(),
		stirs: make(chan struct{}, 1), settled: make(chan struct{}),
	}
}

// seen handles a view.
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

// begin subscribes to the member, repeatedly.
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

// run subscribes to the member as long as it is in the view.
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

// take handles the member's messages.
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

// welcomed determines what is missing when the member begins to send.
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
		lost = true // the end of an earlier life of it is unknown
	}
	if lost || f.missing {
		f.publishMissing(f.heard(lost, time.Unix(0, m.GetAt())))
	}
	f.process, f.linked, f.missing, f.last = process, true, false, false
	f.settle()
}

// broke handles the end of the member's stream, or a failed attempt. Reported means that it had begun, goOn that it is
// to be asked again.
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
