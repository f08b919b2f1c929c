package target

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
)

// servers are the children of a target.
type servers struct {
	harness *Harness
	running []*child
}

func (s *servers) children() []*child { return s.running }

// start starts one more, without waiting until it is ready.
func (s *servers) start(who, name string, args ...string) error {
	c, err := s.harness.start(who, name, args...)
	if err == nil {
		s.running = append(s.running, c)
	}
	return err
}

// startAlone starts the only one, and waits until it is ready.
func (s *servers) startAlone(ctx context.Context, who, name string, args ...string) error {
	err := s.start(who, name, args...)
	if err == nil {
		err = s.awaitReady(ctx)
	}
	if err != nil {
		err = errors.Join(err, s.Stop())
	}
	return err
}

// startMembers starts the members of one cluster, one per name, with the options of its default space.
func (s *servers) startMembers(names, addresses []string, space string, data bool) error {
	for i, name := range names {
		folder := s.harness.fresh("member-" + name)
		args := memberArgs(name, folder, addresses[i],
			"--join", strings.Join(addresses, ","), "--expect", strconv.Itoa(len(addresses)), "--space", "default="+space)
		if data {
			args = append(args, "--data", folder+"-data")
		}
		if err := s.start("member "+name, "member-"+name, args...); err != nil {
			return err
		}
	}
	return nil
}

// memberArgs returns the arguments that make a child a member.
func memberArgs(name, folder, listen string, more ...string) []string {
	return append([]string{"serve", "--name", name, "--listen", listen, "--http", "", "--state", folder, "--log-level", "warn"}, more...)
}

func (s *servers) awaitReady(ctx context.Context) error {
	for _, c := range s.running {
		if err := c.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends them.
func (s *servers) Stop() error {
	var errs []error
	for _, c := range s.running {
		errs = append(errs, c.stop())
	}
	s.running = nil
	return errors.Join(errs...)
}

// Usage returns the sum of all.
func (s *servers) Usage(ctx context.Context, settle bool) (sum load.Usage, err error) {
	for _, c := range s.running {
		used, err := c.usage(ctx, settle)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(used)
	}
	return sum, nil
}

// Sample returns the state of each.
func (s *servers) Sample(ctx context.Context) (all []soak.Process, err error) {
	for _, c := range s.running {
		p, err := c.sample(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
