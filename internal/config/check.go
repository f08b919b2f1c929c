package config

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// longerLease is membership's requirement on the lease in addition to its bounds.
const longerLease = ", and more than 8 times patience"

// check finds faults in the combination of valid values. A check that needs a value that did not parse is skipped.
func (l *loader) check() {
	l.checkListen()
	l.checkCluster()
	l.checkPartition()
	l.checkClaims()
	l.checkFolders()
	l.checkLease()
	l.checkTLS()
	l.sortProblems()
}

// good reports whether all these keys have their given values.
func (l *loader) good(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return l.bad[key] })
}

// refuse adds a problem with the value of a key.
func (l *loader) refuse(name, wrong, allowed, fix string) {
	found, _ := l.setting(mergePath(name))
	l.complain(Problem{name, quote(found.Text), found.Origin, wrong, allowed, fix})
}

// checkListen keeps the ports distinct, and off the network if others could read and change the traffic.
func (l *loader) checkListen() {
	c := &l.config
	if l.good("listen", "http") && c.HTTP != "" && clash(c.Listen, c.HTTP) {
		l.refuse("http", "listen has the same port at "+c.Listen, "another port, or empty", "change one of them")
	}
	if !l.good("insecure", "tls.cert") || c.Insecure || c.TLS.Cert != "" {
		return
	}
	open := func(key, address string) {
		if l.good(key) && address != "" && !loopback(address) {
			l.refuse(key, "other machines can reach it and there is no TLS", "an address that is loopback, or any with TLS",
				"give --tls-cert and --tls-key, or accept the risk with --insecure")
		}
	}
	open("listen", c.Listen)
	open("http", c.HTTP)
}

// Exposure is an address that other machines can reach in plain text.
type Exposure struct{ Key, Address, What string }

// Exposed lists the addresses that the operator has accepted with insecure, and the advertised addresses without TLS.
func (c *Config) Exposed() (all []Exposure) {
	if c.TLS.on() {
		return nil
	}
	for _, one := range []Exposure{
		{"listen", c.Listen, "every process that reaches this address can take, break and read every lock, and join as a member"},
		{"http", c.HTTP, "every process that reaches this address can take, break and read every lock"},
		{"advertise", c.Advertise, "other members come to this address without TLS; make sure that a proxy in front of it encrypts"},
	} {
		if one.Address != "" && !loopback(one.Address) {
			all = append(all, one)
		}
	}
	return all
}

// checkFolders checks the folders without changing anything.
func (l *loader) checkFolders() {
	c := &l.config
	if l.good("data") && c.Data != "" {
		if info, err := os.Stat(c.Data); err == nil && !info.IsDir() {
			l.refuse("data", "it is not a folder", "a folder, or empty", "name another path")
		}
		if l.good("state") && c.State == noState {
			l.refuse("state", "what is kept in data is this member's, which would be another one after each start", "a folder, or empty for that of data", "leave it out")
		}
	}
	if !l.good("state") || c.State == "" || c.State == noState {
		return
	}
	info, err := os.Stat(c.State)
	if err == nil && !info.IsDir() {
		l.refuse("state", "it is not a folder", "a folder, none, or empty for the user's state folder", "name another path")
	}
}

// checkLease requires D > 2C + S + 4T with C = D/10 and S = 3C (docs/design/membership.md §1). A lease must outlive two
// polls, the silence after which a coordinator is suspected, and the four waits of an election; otherwise no failover
// could ever keep the survivors' locks.
func (l *loader) checkLease() {
	c := &l.config
	if l.good("lease", "patience") {
		poll := c.Lease / 10
		silence := 3 * poll
		if needed := 2*poll + silence + 4*c.Patience; c.Lease <= needed {
			wrong := fmt.Sprintf("it must be more than 2 poll intervals of %s, the silence of %s that arouses suspicion and 4 × patience of %s: %s",
				option.Format(poll), option.Format(silence), option.Format(c.Patience), option.Format(needed))
			l.refuse("lease", wrong, "more than "+option.Format(8*c.Patience)+" with this patience", "raise lease or lower patience")
		}
	}
	l.settleTTL()
}

// settleTTL sets the default maximum TTL of sessions, and bounds a configured one: others wait out the promises to
// sessions in memory.
func (l *loader) settleTTL() {
	c := &l.config
	if c.origins["limits.ttl"] == "default" {
		c.Limits.TTL = session.LongestTTL(c.allLast(), c.Lease)
		return
	}
	if !l.good("limits.ttl") {
		return
	}
	if !l.badSpaces && !c.allLast() && c.Limits.TTL > maxMemoryTTL {
		l.refuse("limits.ttl", "a space is kept in memory, where others wait for what a lost member has promised its clients",
			option.Format(maxMemoryTTL)+" or less", "give "+option.Format(maxMemoryTTL)+" or less, or keep all spaces in protocol "+durable)
	}
	if l.good("lease") && c.Limits.TTL < c.Lease {
		l.refuse("limits.ttl", "it is shorter than the lease of "+option.Format(c.Lease)+", which sessions have by default",
			"lease or more", "raise limits.ttl or lower lease")
	}
}

// sortProblems sorts problems in the order of Keys, those about unknown names first.
func (l *loader) sortProblems() {
	names := l.names()
	place := func(p Problem) int {
		if strings.HasPrefix(p.Key, "spaces.") {
			return slices.Index(names, "spaces")
		}
		return slices.Index(names, p.Key)
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int { return cmp.Compare(place(a), place(b)) })
}
