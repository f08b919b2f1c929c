package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/transport/grpc"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// A guest takes the cluster's definitions for everything that it leaves unset: the spaces, and the lease and the drift
// that are zero in its Config. It asks the members of Join before it starts, because its machines are made from them.

// pollInterval is how long a guest waits before it asks all members of Join again, and pollTimeout the time limit of
// one answer.
const (
	pollInterval = 500 * time.Millisecond
	pollTimeout  = 2 * time.Second
)

// Adopt fills in a guest's Config from its cluster: Spaces if there are none, and then Lease and Drift if they are
// zero. It asks the members of Join until one answers, or ctx ends; if State has an earlier life's answer, it asks them
// only once, and otherwise uses that. It returns other members' Configs unchanged. Start calls it. The error has each
// member's answer, or says that a space cannot be adopted, because a store must be given for it.
func Adopt(ctx context.Context, c Config) (Config, error) {
	if !c.guest() || len(c.Spaces) > 0 {
		return c, nil
	}
	if err := c.checkProof(); err != nil {
		return c, err
	}
	ask, err := c.termsSource()
	if err != nil {
		return c, err
	}
	var unreadable error
	for first := true; ; first = false {
		terms, err := askAll(ctx, ask, c.Join)
		if err == nil {
			c.adopted = &adopted{terms: terms}
			return c, c.adopt(terms)
		}
		if first && !errors.Is(ctx.Err(), context.Canceled) {
			var recalled bool
			if recalled, unreadable = c.recall(err); recalled {
				return c, nil
			}
		}
		if unreadable != nil {
			err = fmt.Errorf("%w; %w", err, unreadable)
		}
		if first && c.Logger != nil {
			c.Logger.Warn("no member has reported the cluster's spaces, and this guest defines none; asking again", "error", err)
		}
		c.unanswered(err)
		again := time.NewTimer(pollInterval)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return c, fmt.Errorf("join as a guest: %w; start the members of Join, or define Spaces: %w", err, context.Cause(ctx))
		}
	}
}

func (c *Config) unanswered(why error) {
	if c.Unanswered != nil {
		c.Unanswered(why)
	}
}

// silent lists the reasons why members do not report the cluster's spaces, one for each.
type silent []error

func (s silent) Error() string {
	var all []string
	for _, reason := range s {
		all = append(all, reason.Error())
	}
	return "no member has answered yet: " + strings.Join(all, "; ")
}

func (s silent) Unwrap() []error { return s }

// termsSource returns the function that asks a member.
func (c *Config) termsSource() (func(context.Context, string) ([]string, error), error) {
	if c.Terms != nil {
		return c.Terms, nil
	}
	newcomer := &grpc.Newcomer{Name: cmp.Or(c.Name, c.Address, c.Listen)}
	if c.TLS != nil {
		var err error
		if newcomer.Certificates, err = certificate.Fixed(c.TLS, c.Members...); err != nil {
			return nil, err
		}
	}
	return newcomer.Terms, nil
}

// askAll asks all members at the same time, and returns the first answer.
func askAll(ctx context.Context, ask func(context.Context, string) ([]string, error), addresses []string) ([]string, error) {
	ctx, done := context.WithTimeout(ctx, pollTimeout)
	defer done()
	type answer struct {
		index int
		terms []string
		err   error
	}
	answers := make(chan answer, len(addresses))
	for i, address := range addresses {
		go func() {
			terms, err := ask(ctx, address)
			if err == nil && len(terms) == 0 {
				err = errors.New("it serves no space yet")
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", address, err)
			}
			answers <- answer{i, terms, err}
		}()
	}
	reasons := make(silent, len(addresses))
	var first []string
	for range addresses {
		a := <-answers
		switch {
		case first != nil: // the others end with ctx, and are waited for
		case a.err == nil:
			first = a.terms
			done()
		default:
			reasons[a.index] = a.err
		}
	}
	if first == nil {
		return nil, reasons
	}
	return first, nil
}

// adopt applies a member's terms, which all must agree on.
func (c *Config) adopt(terms []string) error {
	for _, line := range terms {
		keyword, rest, _ := strings.Cut(line, " ")
		var err error
		switch keyword {
		case "lease":
			if c.Lease == 0 {
				c.Lease, err = time.ParseDuration(rest)
			}
		case "drift":
			if c.Drift == 0 {
				c.Drift, err = strconv.ParseFloat(rest, 64)
			}
		case "space":
			var s Space
			s, err = parseDefinition(rest)
			c.Spaces = append(c.Spaces, s)
		}
		if err != nil {
			return fmt.Errorf("join as a guest: the cluster has %q: %w", line, err)
		}
	}
	if len(c.Spaces) == 0 {
		return fmt.Errorf("join as a guest: the cluster's members say that they have no space: %q; define Spaces as there", terms)
	}
	if !slices.ContainsFunc(c.Spaces, func(s Space) bool { return protocol.Named(member.Protocols(), s.Protocol).Logs }) {
		c.State, c.Data = cmp.Or(c.State, c.Data), "" // only the cell would be kept there
	}
	return nil
}

// parseDefinition parses the output of definition, after its first word.
func parseDefinition(text string) (s Space, err error) {
	name, options, found := strings.Cut(text, ": ")
	if !found {
		return s, errors.New("it is not the definition of a space")
	}
	s.Name, s.Options = name, option.Values{}
	for _, part := range strings.Split(options, ", ") {
		key, value, _ := strings.Cut(part, " ")
		switch key {
		case "protocol":
			s.Protocol = value
		case "store":
			return s, errors.New("its claims are kept in a store, which each member opens itself; define all of the cluster's spaces here")
		default:
			s.Options[key] = value
		}
	}
	d := protocol.Named(member.Protocols(), s.Protocol)
	if d == nil {
		return s, fmt.Errorf("this version does not know protocol %q; update this member", s.Protocol)
	}
	list := d.Options().List()
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		if list.Set(name, s.Options[name], false) != nil {
			return s, fmt.Errorf("this version does not know %q; define the spaces here, or update this member", name+" "+s.Options[name])
		}
	}
	return s, nil
}
