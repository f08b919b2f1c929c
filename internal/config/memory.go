package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
)

// keepsNothing returns why the member has no folder that it would find again, in words for errors and logs; "" if it
// has one.
func (l *loader) keepsNothing() string {
	c := &l.config
	switch {
	case !l.good("state", "data", "name", "listen", "advertise", "join"):
		return ""
	case c.State == noState:
		return "state none"
	case c.Data == "" && c.Name == "" && strings.HasSuffix(c.Listen, ":0") && (!c.Clustered() || c.Advertise == ""):
		return "port 0 and no name"
	}
	return ""
}

// settleDefault decides where an implicit default space is stored: on the disk, unless memory was requested, no folder
// would be found again, or another space wants a view that a durable space cannot have.
func (l *loader) settleDefault(spaces []setting) {
	at := slices.IndexFunc(spaces, func(s setting) bool { return s.Space.Name == holdfast.DefaultSpace })
	if at < 0 || !l.good("memory") {
		return
	}
	c, space := &l.config, &spaces[at]
	explicit := c.origins["memory"] != "default"
	if space.Origin != "default" {
		if c.Memory && space.Space.Protocol == durable {
			l.refuse("memory", "space "+quote(space.Space.String())+" from "+space.Origin+" keeps its locks on the disk", "",
				"leave memory out, or the space")
		}
		return
	}
	l.unconfigured = true
	c.undefined = len(spaces) == 1 && !explicit
	why, along := l.keepsNothing(), false
	if why == "" {
		why, along = whyNotDurable(spaces), true
	}
	switch {
	case explicit && !c.Memory && why != "":
		l.refuse("memory", "the default space cannot be kept on the disk with "+why, "", "leave memory out, or change that")
		space.Space.Protocol = usual // one problem is enough
		return
	case !explicit && why != "":
		c.Memory, c.implied = true, why
		c.origins["memory"] = "default with " + why
	}
	if c.Memory {
		space.Space.Protocol = usual
		if explicit || !along {
			space.Origin = c.origins["memory"]
		}
	}
}

// whyNotDurable returns which space wants a view that a durable default space cannot have.
func whyNotDurable(spaces []setting) string {
	kept := Space{Protocol: durable}
	for _, other := range spaces {
		for _, name := range viewOptions() {
			if value, given := other.Space.Options[name]; given && other.Space.takes(name, value) && !kept.takes(name, value) {
				return name + " " + value + " of space " + other.Space.Name
			}
		}
	}
	return ""
}

// ImpliedMemory returns why the default space is in memory although that was not requested; "" if it was, or if the
// space is on the disk.
func (c *Config) ImpliedMemory() string {
	if c.Adopts() {
		return "" // it is as in the cluster
	}
	return c.implied
}

// Adopts reports whether the member adopts the spaces of its cluster: it is a guest, and defines none. It adopts the
// lease and the drift, too, unless given; see Given.
func (c *Config) Adopts() bool { return c.Guest() && c.undefined }

// Given reports whether a key was set, rather than defaulted.
func (c *Config) Given(key string) bool { return !strings.HasPrefix(c.origins[key], "default") }

// DataDir returns the data folder of spaces of protocol consensus, where state is the result of StateDir: the
// configured one, or the folder data in state. "" means that no space stores anything.
func (c *Config) DataDir(state string) string {
	if c.Data != "" || !c.keeps() {
		return c.Data
	}
	return filepath.Join(state, "data")
}

// allLast reports whether every space stores its locks on the disk.
func (c *Config) allLast() bool {
	return !slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Protocol != durable })
}

// keeps reports whether a space stores its locks on the disk.
func (c *Config) keeps() bool {
	return slices.ContainsFunc(c.Spaces, func(s Space) bool { return s.Protocol == durable })
}
