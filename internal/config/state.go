package config

import (
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/private"
	"github.com/holdfast-locks/holdfast/internal/socket"
)

// noState is the value of state for no memory across restarts.
const noState = "none"

// StateDir returns the folder of the stable cell of the member with this name: the configured one, or else that of
// data, or else $XDG_STATE_HOME/holdfast/NAME, or else $HOME/.local/state/holdfast/NAME. "" means that the member has
// no cell. Nothing is created. It is an error if there is no home to put the folder in.
func (c *Config) StateDir(name string, environ []string) (string, error) {
	switch c.State {
	case "":
		if c.Data != "" {
			return c.Data, nil
		}
	case noState:
		return "", nil
	default:
		return c.State, nil
	}
	if wrong := checkMemberName(name); wrong != nil || name == "" {
		return "", errors.New("state: the default folder needs the member's name; give --name, or --state DIR")
	}
	var home, state string
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, "HOME="); found {
			home = value
		}
		if value, found := strings.CutPrefix(entry, "XDG_STATE_HOME="); found {
			state = value
		}
	}
	if filepath.IsAbs(state) { // the XDG specification: relative paths are ignored
		return filepath.Join(state, "holdfast", name), nil
	}
	if !filepath.IsAbs(home) {
		fix := "give --state DIR, or --state none"
		if c.keeps() {
			fix = "give --data DIR, or --state DIR, or keep locks in memory with --memory, and nothing at all with --state none"
		}
		return "", errors.New(`state: "" from ` + c.originOf("state") +
			": there is no user's state folder, for neither XDG_STATE_HOME nor HOME is an absolute path; " + fix)
	}
	return filepath.Join(home, ".local", "state", "holdfast", name), nil
}

// TokensFile returns the file of the tokens of a member with that state folder. "" means that there is none.
func (c *Config) TokensFile(state string) string {
	if c.Tokens != "" || state == "" {
		return c.Tokens
	}
	return filepath.Join(state, "tokens.yaml")
}

// Unguarded returns what other users of the machine can use that is for this member alone: the private key, the tokens,
// the policy, and the folders of its state and its data, each with its fix.
func (c *Config) Unguarded(state, data string) (all []*private.Error) {
	var open *private.Error
	faults := []error{private.CheckFile(c.TLS.Key), private.CheckFile(c.TokensFile(state))}
	if c.Access != guard.Anyone {
		faults = append(faults, private.CheckRules(c.Access))
	}
	for _, err := range faults {
		if errors.As(err, &open) {
			all = append(all, open)
		}
	}
	for _, folder := range slices.Compact([]string{state, data}) {
		if errors.As(private.CheckFolder(folder), &open) {
			all = append(all, open)
		}
	}
	return all
}

// originOf is Origin for errors: a Config that Load did not make has none.
func (c *Config) originOf(key string) string {
	if origin := c.origins[key]; origin != "" {
		return origin
	}
	return "default"
}

// DefaultName returns the name of a member without a configured one: host and port of its actual listen address, such
// as 127.0.0.1-4040. Characters not allowed in a name become "-"; a host that is too long loses its end, never its
// port. Listening on all addresses counts as 0.0.0.0. For a socket it is the end of its path.
func DefaultName(address string) string {
	clean := func(text string) string {
		return strings.Map(func(r rune) rune {
			if nameRune(r) {
				return r
			}
			return '-'
		}, text)
	}
	if path, is := socket.Path(address); is {
		path = clean(path)
		return strings.TrimLeft(path[max(0, len(path)-maxMemberName):], "-")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, ""
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	if allHosts(host) {
		host = "0.0.0.0"
	}
	host, port = strings.TrimLeft(clean(host), "-"), clean(port)
	if port == "" {
		return host[:min(len(host), maxMemberName)]
	}
	port = port[:min(len(port), maxMemberName/2)]
	return strings.TrimLeft(host[:min(len(host), maxMemberName-1-len(port))]+"-"+port, "-")
}
