package membership

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// save writes the cell, or notes that it must be written again when the write in
// flight has ended. Without a cell to keep there is nothing to wait for.
func (m *Lone) save(out *protocol.Effects) {
	if !m.config.Kept {
		m.inflight = m.cell
		m.settled(nil, out)
		return
	}
	if m.saving {
		m.again = true
		return
	}
	m.saving, m.again = true, false
	m.inflight = m.cell
	m.lastSave++
	out.Send(protocol.Storage, storage.Save{ID: m.lastSave, Data: m.inflight.Encode()})
}

// onSaved acts upon what the cell now says.
func (m *Lone) onSaved(now protocol.Time, saved storage.Saved, out *protocol.Effects) {
	if !m.saving || saved.ID != m.lastSave {
		return // of a write that was given up, or a duplicate
	}
	m.saving = false
	m.settled(saved.Err, out)
	if saved.Err != nil {
		m.inflight = Cell{} // the disk may have the old bytes or the new ones
	}
	if m.again {
		m.save(out)
	}
}

// settled tells what follows from a write that has ended.
func (m *Lone) settled(err error, out *protocol.Effects) {
	if m.starting {
		if err != nil {
			out.Raise(&Unfit{Err: err})
			return
		}
		m.starting = false
		m.raiseView(countOf(m.config.Wall, m.cell.Promised), out)
	} else if err == nil && m.view != nil && m.inflight.Promised > m.view.Epoch.Counter {
		m.raiseView(0, out)
	}
	if err == nil {
		// No more than is needed, even where the cell says more: what an earlier life
		// promised ends, and the cell forgets it then.
		m.horizon = protocol.Horizon{
			Confirmed: min(m.inflight.Horizon, m.need.Want),
			Clients:   !m.inflight.Clean && m.need.Clients,
		}
	} else {
		// What could not be remembered is not promised; the wish is forgotten.
		m.cell.Horizon = min(m.cell.Horizon, m.horizon.Confirmed)
		m.cell.Clean = m.cell.Clean || !m.horizon.Clients
		out.Note(Unsaved{Err: err})
	}
	if m.asked && !m.again {
		m.asked = false
		m.raiseHorizon(true, out)
	}
	if len(m.leaving) > 0 && !m.again {
		for _, call := range m.leaving {
			out.Reply(call, &Left{Err: err})
		}
		m.leaving = nil
	}
}

// raiseView begins a reign: this member alone, coordinating itself.
func (m *Lone) raiseView(count uint32, out *protocol.Effects) {
	number := uint64(1)
	if m.view != nil {
		number = m.view.Number + 1
	}
	m.view = &protocol.View{
		Number:      number,
		Epoch:       protocol.Epoch{Counter: m.inflight.Promised, Candidate: m.inflight.ID},
		Coordinator: m.inflight.ID,
		Installed:   true,
		Open:        true,
		GrantFrom:   m.wait,
		Count:       count,
		Lease:       &m.lease,
		Members: []protocol.Member{{
			ID: m.inflight.ID, Name: m.config.Name, Address: m.config.Address, Founder: true,
			Tenure: protocol.Tenure{Incarnation: m.inflight.Incarnation},
		}},
	}
	out.Raise(m.view)
}

// countOf returns where the count of tokens begins: at the fraction of the wall
// clock's second if the epoch was taken from it, in 2⁻³⁰ s, so that half of a
// reign's tokens are left even at the end of a second.
func countOf(wall time.Duration, epoch uint64) uint32 {
	if epoch != secondsOf(wall) {
		return 0
	}
	return uint32(uint64(wall%time.Second) << 30 / uint64(time.Second))
}

// onNeedHorizon lets clients believe longer, once the cell says so; or less long, at
// once, whatever the cell still says.
func (m *Lone) onNeedHorizon(need *protocol.NeedHorizon, out *protocol.Effects) {
	m.need = protocol.NeedHorizon{Want: min(need.Want, m.config.MaxHorizon), Clients: need.Clients}
	if !m.config.Kept {
		m.need.Want = 0 // no member without memory may promise beyond its lease
	}
	m.asked = true
	m.lower(out)
	m.setPromises(m.need.Want, !m.need.Clients, out)
}

// lower promises no more than was asked for last, before the cell is told: nothing
// may be promised that a cell under way does not say.
func (m *Lone) lower(out *protocol.Effects) {
	lowered := protocol.Horizon{Confirmed: min(m.horizon.Confirmed, m.need.Want), Clients: m.horizon.Clients && m.need.Clients}
	if lowered != m.horizon {
		m.horizon = lowered
		m.raiseHorizon(false, out)
	}
}

func (m *Lone) raiseHorizon(answer bool, out *protocol.Effects) {
	raised := m.horizon
	raised.Answer = answer
	out.Raise(&raised)
}

// setPromises writes what is promised. While an earlier life's promises are waited
// for, the cell goes on saying them: a restart within the wait must wait for them
// too.
func (m *Lone) setPromises(horizon time.Duration, clean bool, out *protocol.Effects) {
	if m.wait > 0 {
		horizon, clean = max(horizon, m.config.Cell.Horizon), false
	}
	m.cell.Horizon, m.cell.Clean = horizon, clean
	if m.cell == m.inflight && !m.saving && !m.starting {
		m.settled(nil, out) // the cell says so already
		return
	}
	m.save(out)
}

// onWaited lets the cell forget what an earlier life had promised.
func (m *Lone) onWaited(now protocol.Time, out *protocol.Effects) {
	if m.wait == 0 || m.starting || now < m.wait {
		return
	}
	m.wait = 0
	m.lower(out)
	m.setPromises(m.need.Want, !m.need.Clients, out)
}

// onNeedEpoch begins another reign, because the count in this one is exhausted.
func (m *Lone) onNeedEpoch(need *protocol.NeedEpoch, out *protocol.Effects) {
	if m.cell.Promised > need.Above {
		return // under way
	}
	m.cell.Promised = need.Above + 1
	m.save(out)
}

// onLeave answers when the cell says what is promised.
func (m *Lone) onLeave(call protocol.CallID, out *protocol.Effects) {
	if !m.saving {
		out.Reply(call, &Left{})
		return
	}
	m.leaving = append(m.leaving, call)
}

// Unsaved notes a cell that could not be written.
type Unsaved struct{ Err error }

func (n Unsaved) String() string { return "writing the stable cell: " + n.Err.Error() }
