package run

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// busy is a machine that is at work when its time comes, and writes down what it is stepped with.
type busy struct {
	wake   protocol.Time
	works  chan struct{} // closed when it has been at work for long when its time has come
	ends   chan struct{} // the work ends
	ticked chan struct{}
	heard  []protocol.Kind
}

func (m *busy) Wake() protocol.Time { return m.wake }

// spin lets time pass for a machine at work.
func spin() {
	for at := time.Now().Add(2 * lateAfter); time.Now().Before(at); runtime.Gosched() {
	}
}

// Step works at what the first Receive brings.
func (m *busy) Step(now protocol.Time, ev protocol.Event, _ *protocol.Effects) {
	m.heard = append(m.heard, ev.Kind)
	switch ev.Kind {
	case protocol.Start:
		m.wake = now + time.Millisecond
	case protocol.Receive:
		if m.wake == protocol.Never { // it has ticked before the work began
			m.wake = now + time.Millisecond
		}
		spin()
		close(m.works)
		<-m.ends
		spin()
	case protocol.Tick:
		m.wake = protocol.Never
		if slices.Contains(m.heard, protocol.Receive) {
			close(m.ticked)
		}
	}
}

// TestWhatHasArrivedComesBeforeALateTick: heartbeats that wait while the machine is at work are stepped before the tick
// whose time has passed meanwhile, though the tick has waited for longer.
func TestWhatHasArrivedComesBeforeALateTick(t *testing.T) {
	m := &busy{works: make(chan struct{}), ends: make(chan struct{}), ticked: make(chan struct{})}
	d, err := New(Config{Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock() // the time comes during the work, and the tick waits for the mutex before the heartbeats do
	m.wake = d.Now() + 5*time.Millisecond
	d.arm(d.Now())
	d.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { d.Step(protocol.Event{Kind: protocol.Receive}) })
	<-m.works
	const beats = 5
	comes := make(chan struct{}, beats)
	for range beats {
		all.Go(func() {
			comes <- struct{}{}
			d.Step(protocol.Event{Kind: protocol.Call})
		})
	}
	for range beats {
		<-comes
	}
	close(m.ends)
	all.Wait()
	<-m.ticked
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	last := m.heard[len(m.heard)-beats-2:]
	want := append([]protocol.Kind{protocol.Receive}, slices.Repeat([]protocol.Kind{protocol.Call}, beats)...)
	if want = append(want, protocol.Tick); !slices.Equal(last, want) {
		t.Errorf("stepped with %v, want %v", last, want)
	}
}
