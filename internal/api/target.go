package api

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is the port of members and clients.
const DefaultPort = "4040"

// targetForms lists the forms of ParseTarget, for its errors.
const targetForms = "want holdfast://HOST:PORT[,HOST:PORT…], HOST:PORT[,HOST:PORT…] or unix:///PATH"

// Address is the address of one member.
type Address struct {
	Network string // "tcp" or "unix"
	Place   string // HOST:PORT, or the path of a socket
}

// String returns the address in its usual form.
func (a Address) String() string {
	if a.Network == "unix" {
		return "unix://" + a.Place
	}
	return a.Place
}

// ParseTarget parses a client's target: one or more addresses of members of one cluster, in the order of attempts. The
// default port is [DefaultPort]; an IPv6 address with a port is in brackets. The error names the value, what is wrong
// with it, and the allowed forms.
func ParseTarget(target string) ([]Address, error) {
	addresses, err := parseTarget(strings.TrimSpace(target))
	if err != nil {
		return nil, Fail(CodeBadRequest, fmt.Sprintf("server %q: %v; %s", target, err, targetForms))
	}
	return addresses, nil
}

func parseTarget(target string) ([]Address, error) {
	scheme, rest, ok := strings.Cut(target, "://")
	switch {
	case !ok:
		rest = target
	case scheme == "unix":
		if !strings.HasPrefix(rest, "/") || strings.ContainsRune(rest, 0) {
			return nil, errors.New("the path of a socket begins with /")
		}
		return []Address{{"unix", rest}}, nil
	case scheme != "holdfast":
		return nil, fmt.Errorf("scheme %q is not known", scheme)
	}
	var addresses []Address
	for place := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), ",") {
		place, err := parsePlace(strings.TrimSpace(place))
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, Address{"tcp", place})
	}
	return addresses, nil
}

// parsePlace completes one HOST:PORT.
func parsePlace(place string) (string, error) {
	if place == "" {
		return "", errors.New("an address is empty")
	}
	host, port := place, DefaultPort
	if _, err := netip.ParseAddr(unbracket(place)); err == nil {
		host = unbracket(place)
	} else if strings.Contains(place, ":") {
		if host, port, err = net.SplitHostPort(place); err != nil {
			return "", fmt.Errorf("address %q is not HOST:PORT", place)
		}
	}
	if host == "" || strings.ContainsFunc(host, badHostRune) {
		return "", fmt.Errorf("address %q has no host that could be looked up", place)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return "", fmt.Errorf("address %q has no port from 1 to 65535", place)
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), nil
}

// unbracket removes the brackets of an IPv6 address.
func unbracket(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}

// badHostRune reports whether a character cannot be in a host name or IP address.
func badHostRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_.:%", r)
}
