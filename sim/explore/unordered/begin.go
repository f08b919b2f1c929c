package unordered

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
)

// beginning is the initial state: every member has the required knowledge of the others (their clocks, or the leaders),
// and no user has asked for anything.
func (e *engine) beginning() (*world, error) {
	w := &world{users: make([]user, e.config.Users), requests: e.config.Requests, views: make([]knowledge, e.config.Members)}
	for i := range w.users {
		w.users[i].calls = uint8(e.config.Calls)
	}
	var founders []string
	for place := range e.config.Members {
		founders = append(founders, address(place))
	}
	options := e.config.Options.Space()
	if e.config.Published {
		options["messages"] = "published"
	}
	for place := range e.config.Members {
		built, err := e.config.Protocol.Build(sim.Node{
			Protocol: e.config.Protocol.Name, Name: fmt.Sprintf("m%d", place+1), Address: address(place), Join: founders,
			Founder: true, Kept: true, Rand: rand.New(rand.NewPCG(uint64(place), 1)), Lease: 3e9, Drift: 0.05,
			Table: lock.Config{Drift: 0.05, History: 1}, Options: options,
		})
		if err != nil {
			return nil, fmt.Errorf("start m%d: %w", place+1, err)
		}
		e.ids = append(e.ids, built.ID)
		m, err := e.meet(&member{id: built.ID, machine: built.Spaces[0]})
		if err != nil {
			return nil, err
		}
		w.members = append(w.members, m)
	}
	e.nameAll()
	for place := range w.members {
		if err := e.step(w, place, sum([]byte("first view")), func() protocol.Event {
			return protocol.Event{Kind: protocol.Raised, Fact: e.view(0, unaware)}
		}); err != nil {
			return nil, err
		}
	}
	for len(w.transit) > 0 {
		if err := e.deliver(w, 0); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// nameAll lets paths use the names of members.
func (e *engine) nameAll() {
	var names []string
	for place, id := range e.ids {
		names = append(names, strconv.FormatUint(uint64(id), 10), fmt.Sprintf("m%d", place+1))
	}
	e.names = strings.NewReplacer(names...)
}
