package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// address defines the addresses that a key accepts.
type address struct {
	freePort bool // port 0: any that is free
	anyHost  bool // no host, 0.0.0.0, [::]: all of this machine's addresses
	optional bool // empty
}

func (a address) allowed() string {
	text := "HOST:PORT with a port of 1 to 65535"
	if a.freePort {
		text = "HOST:PORT with a port of 0 to 65535"
	}
	if a.optional {
		text += ", or empty"
	}
	return text
}

// check returns what is wrong with an address. Host names are not resolved.
func (a address) check(text string) *flaw {
	if text == "" {
		if a.optional {
			return nil
		}
		return &flaw{"it is empty", "write it as in 127.0.0.1:4040"}
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return &flaw{"it is not HOST:PORT", "write it as in 127.0.0.1:4040 or [::1]:4040"}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return &flaw{"its port is not a number from 0 to 65535", "give the port as a number"}
	}
	if number == 0 && !a.freePort {
		return &flaw{"port 0 names no place that others could reach", "give the port itself"}
	}
	if !goodHost(host) {
		return &flaw{"its host is neither an IP address nor a host name", "correct the host"}
	}
	if !a.anyHost && allHosts(host) {
		return &flaw{"its host names no machine", "give the address that others reach this machine by"}
	}
	return nil
}

// goodHost accepts IP addresses, valid names of DNS and hosts files, and no host at all.
func goodHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return true
	}
	return len(host) <= 253 && !strings.ContainsFunc(host, func(r rune) bool { return !nameRune(r) })
}

// allHosts reports whether a listener on host is reached by every address of the machine.
func allHosts(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.Unmap().IsUnspecified()
}

// loopback reports whether only this machine can reach a listener on this address. A name other than localhost may
// resolve to anything, and counts as reachable.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// place returns an address in normal form: two addresses with the same form are the same. localhost and 127.0.0.1 are.
func place(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	if number, err := strconv.ParseUint(port, 10, 16); err == nil {
		port = strconv.FormatUint(number, 10)
	}
	return net.JoinHostPort(host, port)
}

// clash reports whether two listeners cannot have both addresses.
func clash(one, two string) bool {
	hostOne, portOne, errOne := net.SplitHostPort(place(one))
	hostTwo, portTwo, errTwo := net.SplitHostPort(place(two))
	if errOne != nil || errTwo != nil || portOne != portTwo || portOne == "0" {
		return false
	}
	return hostOne == hostTwo || allHosts(hostOne) || allHosts(hostTwo)
}

func addressKey(name, value string, field func(*Config) *string, allowed address, help string) Key {
	return checkedKey(name, value, field, allowed.check, allowed.allowed(), help)
}

func joinKey() Key {
	return listKey("join", func(c *Config) *[]string { return &c.Join }, func(item string) *flaw {
		if wrong := (address{}).check(item); wrong != nil {
			return &flaw{quote(item) + " in it: " + wrong.wrong, wrong.fix}
		}
		return nil
	}, "HOST:PORT[,HOST:PORT…] with ports of 1 to 65535, or empty",
		"Addresses of the founders, separated by commas, this member's own included or not; may be repeated.")
}
