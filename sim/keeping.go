package sim

import "github.com/holdfast-locks/holdfast/protocol"

// assured is until when all that users within the process hold is safe, as far as the space knows.
func (m *process) assured() protocol.Time {
	if space, is := m.space().(protocol.Assures); is {
		return space.Assured()
	}
	return protocol.Never
}

// What can happen where processes keep what was released.
const (
	keptRegranted = iota
	keptRewritten
	keptYielded
	keptCrashed
	keptCount
)

var keptNames = [keptCount]string{"granted again without a write", "written anew while it is free", "given back to others who have waited", "crash of who keeps something"}

// countKept counts what a process has done with what was released, in a step.
func (m *process) countKept() {
	if m.world.settings.known.KeepsCell == 0 {
		return
	}
	before, now := m.keeping, m.world.protocol.Holding(m.space())
	m.keeping = now
	kept := &m.world.count.kept
	kept[keptRegranted] += int(now.Regranted - before.Regranted)
	kept[keptRewritten] += int(now.Rewritten - before.Rewritten)
	kept[keptYielded] += int(now.Yielded - before.Yielded)
}

// countCrash counts the crash of a process that keeps something.
func (m *process) countCrash() {
	if m.keeping.Kept > 0 {
		m.world.count.kept[keptCrashed]++
	}
}

// listKept lists what can be hit where processes keep what was released.
func (c *counts) listKept(config *Config, row func(sort, name string, n int)) {
	if !config.Protocol.Stores {
		return
	}
	for i, name := range keptNames {
		if i != keptCrashed || config.Faults.Has(Crash) {
			row("kept", name, c.kept[i])
		}
	}
}
