package session

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// cluster is information from members about the cluster, and about addresses for clients.
type cluster struct {
	id         string        // as the first member has sent it; "" if it sends none
	authority  string        // address of the authority, as far as known
	learned    []api.Address // of its members, besides the given addresses
	plain      bool          // a given address is among those listed by members
	sentAway   bool          // the last member has reported that it does not serve
	redirected bool          // Direct has been followed for the present session
	last       api.Address   // the address that answered last
}

// maxLearned is the maximum number of kept member addresses. A cluster is smaller.
const maxLearned = 256

// learn stores a member's list of addresses for clients.
func (k *cluster) learn(given []api.Address, authority string, members []string) {
	k.authority, k.learned = authority, nil
	for _, text := range members[:min(len(members), maxLearned)] {
		if place, err := api.ParseTarget(text); err == nil {
			k.learned = append(k.learned, place...)
			k.plain = k.plain || slices.Contains(given, place[0])
		}
	}
}

// strange reports whether the program at a merely listed address belongs to another cluster: an address that means a
// member elsewhere may mean anything here. Given addresses are the caller's responsibility.
func (k *cluster) strange(given []api.Address, place api.Address, cluster string) bool {
	return !slices.Contains(given, place) && cluster != k.id
}

// Places lists the addresses to contact: first the one of the session, or of the preferred member for a new one.
func (m *Machine) Places() []api.Address {
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

// known lists the given addresses, followed by those that members of the cluster have listed, if those may be
// contacted. They may if a given address is one of them. Otherwise the caller reaches the member differently than
// members reach one another, for example through a proxy, which must not be bypassed, unless Direct asks for it, or the
// member has reported that it does not serve.
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
