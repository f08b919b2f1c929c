package grantor

import "github.com/holdfast-locks/holdfast/protocol"

// tokensAbove returns a reign above one, and where its count begins. If the epoch is used up, the membership is asked
// for another one under the same view: the question that needs it waits for that.
func (m *Machine) tokensAbove(spent uint64, out *protocol.Effects) (reign uint64, count uint32, ok bool) {
	if m.view.Epoch.Counter > spent {
		return m.view.Epoch.Counter, m.view.Count, true
	}
	out.Raise(&protocol.NeedEpoch{Above: m.view.Epoch.Counter})
	return 0, 0, false
}

// considerCount gives a grantor another epoch to count in: its tokens are used up, or the table that it was to continue
// is lost.
func (m *Machine) considerCount(q question, out *protocol.Effects) *Info {
	x := &m.elder.entry
	asker, _ := m.placeOf(q.from)
	if !x.named || x.grantor != asker || x.version != q.Version {
		if !x.named || !m.present(x.grantor) {
			return &Info{}
		}
		return x.info(asker) // it is none any more
	}
	reign, count, ok := m.tokensAbove(x.spent, out)
	if !ok {
		return nil
	}
	x.beginning, x.previous, x.reign, x.count, x.spent = Recovering, Place{}, reign, count, reign
	return x.info(asker)
}
