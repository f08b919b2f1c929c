package client

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// places lists the addresses to go to: first the one where the session is, or where
// a new one should be.
func (c *Client) places() (*backing, []api.Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.last
	switch {
	case c.session != nil && c.session.at != api.Address{}:
		first = c.session.at
	case c.settings.direct && c.authority != "":
		if to, err := api.ParseTarget(c.authority); err == nil {
			first = to[0]
		}
	}
	all := c.known()
	if (first == api.Address{}) {
		return c.session, all
	}
	others := slices.DeleteFunc(all, func(a api.Address) bool { return a == first })
	return c.session, append([]api.Address{first}, others...)
}

// known lists the addresses that were given, and behind them those that members of the
// cluster have told, if those may be gone to. They may where a given address is one of
// them. Otherwise the caller reaches the member in another way than members reach one
// another, through a proxy say, and is not to be led past it; unless it has asked for that
// with option Direct, or the member has said that it does not serve.
func (c *Client) known() []api.Address {
	all := slices.Clone(c.addresses)
	if !c.plain && !c.sentAway && !c.settings.direct {
		return all
	}
	for _, place := range c.learned {
		if !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return all
}

// maxLearned is how many addresses of members are kept. A cluster is smaller.
const maxLearned = 256

// learn keeps what a member has told of where clients can go.
func (c *Client) learn(authority string, members []string) {
	c.authority, c.learned = authority, nil
	for _, text := range members[:min(len(members), maxLearned)] {
		if place, err := api.ParseTarget(text); err == nil {
			c.learned = append(c.learned, place...)
			c.plain = c.plain || slices.Contains(c.addresses, place[0])
		}
	}
}

// strange reports whether the program at a place that was only told of belongs to
// another cluster: an address that means a member elsewhere may mean anything here. What
// was given by the caller is the caller's to know.
func (c *Client) strange(place api.Address, cluster string) bool {
	return !slices.Contains(c.addresses, place) && cluster != c.cluster
}
