package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/socket"
)

// Address returns this member's address for others, in normal form: advertise, or else its listen address. If the
// machine chooses that port, it is 0.
func (c *Config) Address() string {
	if c.Advertise != "" {
		return place(c.Advertise)
	}
	return place(c.Listen)
}

// Clustered reports whether this member has others to join.
func (c *Config) Clustered() bool { return len(c.Join) > 0 }

// Guest reports whether this member joins founders without being one.
func (c *Config) Guest() bool { return c.Clustered() && c.Expect == 0 }

// checkCluster checks the list of the other members. Founders are identified by the addresses in all their lists, so
// the list must be the same set at each: a founder that counts itself twice, or under another address than in the
// others' lists, would wait for a member that does not exist.
func (l *loader) checkCluster() {
	if !l.good("join", "expect", "listen", "advertise") {
		return
	}
	c := &l.config
	given := len(c.Join)
	c.Join = l.others()
	switch founders := len(c.Join) + 1; {
	case c.Listen == "" && (given > 0 || c.Expect > 1):
		l.refuse("listen", "other members reach this one over the network", "HOST:PORT, alone or with the socket",
			"give --listen HOST:PORT,"+socket.Scheme+c.Socket)
	case given > 0 && len(c.Join) == 0 && c.Expect == 0:
		l.refuse("join", "it has this member's own address alone, and a guest needs a member to join",
			"the addresses of the founders", "list the others too, or give --expect 1 for a single member")
	case c.Expect != 0 && c.Expect != founders:
		l.refuse("expect", fmt.Sprintf("with this member's own address %s the founders are %s", c.Address(), list(c.founders())),
			fmt.Sprintf("%d with this join of %s", founders, list(l.listed())),
			"list every founder in join, the same at each, or correct expect, listen or advertise")
	case c.Clustered():
		l.checkReach()
	}
}

// others returns the addresses of join without this member's own, each once, in normal form.
func (l *loader) others() (others []string) {
	own := l.config.Address()
	for _, address := range l.config.Join {
		if at := place(address); at != own && !slices.Contains(others, at) {
			others = append(others, at)
		}
	}
	return others
}

// founders returns the addresses of all founders if this member is one, in order.
func (c *Config) founders() []string {
	return slices.Sorted(slices.Values(append(slices.Clone(c.Join), c.Address())))
}

// listed returns join as written.
func (l *loader) listed() (addresses []string) {
	found, _ := l.setting(mergePath("join"))
	for item := range strings.SplitSeq(found.Text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			addresses = append(addresses, item)
		}
	}
	return addresses
}

// list formats the number of addresses and the addresses.
func list(addresses []string) string {
	switch len(addresses) {
	case 0:
		return "no address"
	case 1:
		return "1 (" + addresses[0] + ")"
	}
	return fmt.Sprintf("%d (%s)", len(addresses), strings.Join(addresses, ", "))
}

// checkReach keeps a member out of a cluster whose other members cannot reach it.
func (l *loader) checkReach() {
	c := &l.config
	host, port, err := net.SplitHostPort(c.Address())
	if err != nil {
		return // a listen address that did not parse was already refused
	}
	remote := slices.IndexFunc(c.Join, func(address string) bool { return !loopback(address) })
	switch {
	case allHosts(host):
		l.refuse("listen", "its host names no machine, and other members must know where this one is",
			"the address of one host, or any with advertise", "give --advertise HOST:PORT")
	case port == "0" && c.Expect > 0:
		l.refuse("listen", "a founder's address stands in the others' lists, and port 0 is known after the start only",
			"a port from 1 to 65535, or any with advertise", "give the port itself")
	case remote >= 0 && loopback(c.Address()):
		key, other := "listen", "--listen or --advertise"
		if c.Advertise != "" {
			key, other = "advertise", "--advertise"
		}
		l.refuse(key, "only this machine can reach it, and "+c.Join[remote]+" in join is another",
			"an address that every member can reach", "give such an address with "+other)
	}
}

// viewOptions returns the options of a space that concern the view and its coordinator. A member has one view for all
// its spaces, so they must agree.
func viewOptions() []string { return []string{"partition", "preempt"} }

// checkPartition refuses spaces that want different views. An implicit default space adapts to the others.
func (l *loader) checkPartition() {
	c := &l.config
	if l.badSpaces || len(c.Spaces) < 2 {
		return
	}
	for _, name := range viewOptions() {
		first := &c.Spaces[0]
		if l.unconfigured {
			if value, given := c.Spaces[1].Options[name]; given && first.takes(name, value) {
				if wrong := first.setOption(name, value); wrong != nil {
					panic("config: a space without a name has options: " + wrong.wrong)
				}
			}
		}
		for _, space := range c.Spaces[1:] {
			if value := space.Option(name); value != first.Option(name) {
				fix := "write " + name + "=" + first.Option(name) + " here, or change the others"
				if !space.takes(name, first.Option(name)) {
					fix = "write " + name + "=" + value + " in the others, or give this one another protocol"
				}
				l.complain(Problem{"spaces." + space.Name, quote(space.String()), c.origins["spaces."+space.Name],
					fmt.Sprintf("its %s is %s, and that of space %s is %s; a member has one view for all its spaces",
						name, value, first.Name, first.Option(name)),
					"the same " + name + " in all spaces", fix})
				break
			}
		}
	}
}
