package sim

import "github.com/holdfast-locks/holdfast/protocol"

// assured is the time until which all holds of users within the process are safe, to the space's knowledge.
func (m *process) assured() protocol.Time {
	if space, is := m.space().(protocol.Assures); is {
		return space.Assured()
	}
	return protocol.Never
}

// countKept counts what a process has done with kept releases in a step.
func (m *process) countKept() {
	if m.world.settings.known.KeepsCell == 0 {
		return
	}
	for i := range m.world.protocol.Kept {
		row := &m.world.protocol.Kept[i]
		now := row.Count(m.space())
		if !row.Crash {
			m.world.count.hits[mark{"kept", row.Name}] += int(now - m.keeping[i])
		}
		m.keeping[i] = now
	}
}

// countCrash counts the crash of a process that keeps something.
func (m *process) countCrash() {
	for i, row := range m.world.protocol.Kept {
		if row.Crash && m.keeping[i] > 0 {
			m.world.count.hits[mark{"kept", row.Name}]++
		}
	}
}
