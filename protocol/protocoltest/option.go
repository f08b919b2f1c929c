package protocoltest

import (
	"strings"
)

// option reads an option of members, and reports whether it is one.
func (s *Stage) option(arg string) bool {
	s.t.Helper()
	key, value, set := strings.Cut(arg, "=")
	if !set {
		return s.flag(key)
	}
	switch key {
	case "chunk":
		s.options.Chunk = int(Number(s.t, value))
	case "operators":
		s.options.Operators = int(Number(s.t, value))
	case "parked":
		s.options.Parked = int(Number(s.t, value))
	case "placement":
		s.options.Placement = Duration(s.t, value)
	case "hold_on":
		s.options.HoldOn = Duration(s.t, value)
	case "capacity":
		s.options.Capacity = int(Number(s.t, value))
	case "founders":
		s.options.Founders = int(Number(s.t, value))
	case "grace":
		if s.options.GraceOfHold = value == "snaplock"; !s.options.GraceOfHold {
			s.options.Grace = Duration(s.t, value)
		}
	case "priority", "random", "address":
		for _, own := range strings.Split(value, ",") {
			name, is, _ := strings.Cut(own, ":")
			s.own[name+" "+key] = is
		}
	default:
		return s.claimOption(key, value)
	}
	return true
}

// claimOption reads an option of those who share a store.
func (s *Stage) claimOption(key, value string) bool {
	s.t.Helper()
	claims := &s.options.Claims
	switch key {
	case "wait":
		claims.Wait = Duration(s.t, value)
	case "expiry":
		claims.Expiry = Duration(s.t, value)
	case "skew":
		claims.Skew = Duration(s.t, value)
	case "retries":
		claims.Retries = int(Number(s.t, value))
	case "unit":
		claims.Unit = value
	case "store":
		claims.Store.Watch = strings.Contains(value, "watch")
		claims.Store.TTL = strings.Contains(value, "ttl")
		s.store.forgets = strings.Contains(value, "forgets")
	default:
		return false
	}
	return true
}

// flag reads an option that is set or not.
func (s *Stage) flag(key string) bool {
	switch key {
	case "defer":
		s.options.Defer = true
	case "retain":
		s.options.Retain = true
	case "any":
		s.options.Any = true
	case "published":
		s.options.Published = true
	case "named":
		s.named = true
	case "cas":
		s.options.Claims.CAS = true
	case "clock":
		s.options.Claims.StoreClock = true
	case "cleaner":
		s.options.Claims.Cleaner = true
	default:
		return false
	}
	return true
}

// off is the priority of a member that is never a leader, as configurations say it.
const off = 15

// ownOptions puts in what is said of one member only.
func (s *Stage) ownOptions(m *member, options *Options) {
	s.t.Helper()
	switch priority := s.own[m.name+" priority"]; priority {
	case "":
	case "off":
		options.Priority = off
	default:
		options.Priority = int(Number(s.t, priority))
	}
	if random := s.own[m.name+" random"]; random != "" {
		options.Random = uint32(Number(s.t, random))
	}
}

// address is where a member listens: its name, if nothing else is said.
func (s *Stage) address(m *member) string {
	if address := s.own[m.name+" address"]; address != "" {
		return address
	}
	return m.name
}
