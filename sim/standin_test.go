package sim

import "github.com/holdfast-locks/holdfast/protocol"

// worldOf makes a world of members in one view, each with a stand-in as its one space.
func worldOf[S protocol.Machine](c *Config, standIn func() S) (*world, []S) {
	if err := c.check(); err != nil {
		panic(err)
	}
	w := newWorld(c, 1, nil, newCounts(false))
	view := &protocol.View{Number: 1, Lease: &protocol.Lease{Member: protocol.Never}}
	var spaces []S
	for i, m := range w.members {
		s := standIn()
		m.up, m.id, m.life, m.spaces, m.view = true, protocol.ID(i+1), 1, []protocol.Machine{s}, view
		w.network.of[m.id] = m
		view.Members = append(view.Members, protocol.Member{ID: m.id, Since: 1})
		spaces = append(spaces, s)
	}
	return w, spaces
}
