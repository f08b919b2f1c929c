package session

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// cluster is what members have sent about the cluster, and about where clients can go.
type cluster struct {
	id         string        // as the first member has sent it; "" where it sends none
	authority  string        // the address of the authority, as far as known
	learned    []api.Address // of its members, besides the addresses that were given
	plain      bool          // a given address is among those that members have listed
	sentAway   bool          // the member at the latest place does not serve, by its own word
	redirected bool          // Direct has been followed for the present session
	last       api.Address   // has answered last
}

// maxLearned is how many addresses of members are kept. A cluster is smaller.
const maxLearned = 256

// learn keeps a member's list of where clients can go.
func (k *cluster) learn(given []api.Address, authority string, members []string) {
	k.authority, k.learned = authority, nil
	for _, text := range members[:min(len(members), maxLearned)] {
		if place, err := api.ParseTarget(text); err == nil {
			k.learned = append(k.learned, place...)
			k.plain = k.plain || slices.Contains(given, place[0])
		}
	}
}

// strange reports whether the program at a place that was only listed belongs to
// another cluster: an address that means a member elsewhere may mean anything here. What
// was given by the caller is the caller's to know.
func (k *cluster) strange(given []api.Address, place api.Address, cluster string) bool {
	return !slices.Contains(given, place) && cluster != k.id
}

// places lists the addresses to go to: first the one where the session is, or where
// a new one should be.
func (m *Machine) places() []api.Address {
	first := m.cluster.last
	switch {
	case m.session != nil && m.session.at != api.Address{}:
		first = m.session.at
	case m.config.Direct && m.cluster.authority != "":
		if to, err := api.ParseTarget(m.cluster.authority); err == nil {
			first = to[0]
		}
	}
	all := m.known()
	if (first == api.Address{}) {
		return all
	}
	others := slices.DeleteFunc(all, func(a api.Address) bool { return a == first })
	return append([]api.Address{first}, others...)
}

// known lists the addresses that were given, and behind them those that members of the
// cluster have listed, if those may be gone to. They may where a given address is one of
// them. Otherwise the caller reaches the member in another way than members reach one
// another, through a proxy say, and is not to be led past it; unless it has asked for that
// with Direct, or the member has said that it does not serve.
func (m *Machine) known() []api.Address {
	all := slices.Clone(m.config.Addresses)
	if !m.cluster.plain && !m.cluster.sentAway && !m.config.Direct {
		return all
	}
	for _, place := range m.cluster.learned {
		if !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return all
}
