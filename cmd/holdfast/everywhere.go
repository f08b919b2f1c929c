package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// place is a member of the cluster, and where it answers.
type place struct{ name, address string }

// replyOf is what a member has answered.
type replyOf[T any] struct {
	place
	answer T
	err    error // without the name of the command
}

// oneMemberFlag chooses a member for a command that asks all of them.
func oneMemberFlag() cli.Flag {
	return textFlag("member", "ask the `MEMBER` of this name alone, not all members")
}

// membersOf returns the members of the cluster, the missing voters included, or only that of --member.
func membersOf(ctx context.Context, c *cli.Command) ([]place, error) {
	status, err := askStatus(ctx, c)
	if err != nil {
		return nil, err
	}
	own := place{status.Member.Name, status.Member.Address}
	if addresses, err := api.ParseTarget(serverOf(c)); err == nil && len(addresses) == 1 {
		own.address = serverOf(c) // which may be a socket
	}
	all := []place{own}
	for _, member := range status.View.Members {
		if member.Name != own.name {
			all = append(all, place{member.Name, member.Address})
		}
	}
	for _, member := range status.Missing {
		all = append(all, place{cmp.Or(member.Name, member.Address), member.Address})
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.name, b.name) })
	wanted := c.String("member")
	if wanted == "" {
		return all, nil
	}
	names := make([]string, len(all))
	for i, at := range all {
		if names[i] = at.name; at.name == wanted {
			return []place{at}, nil
		}
	}
	return nil, usageError(calledAs(c), "flag --member: there is no member %q; the members are %s", wanted, strings.Join(names, ", "))
}

// everywhere asks members a question at the same time, each for at most --timeout. A member that serves no clients, such
// as one of package node, is left out.
func everywhere[T any](ctx context.Context, c *cli.Command, places []place, question func(context.Context, *client.Admin) (T, error),
) ([]replyOf[T], error) {
	limit, err := timeoutOf(c)
	if err != nil {
		return nil, err
	}
	answers := make([]replyOf[T], len(places))
	var asked sync.WaitGroup
	for i, at := range places {
		asked.Go(func() {
			answers[i] = replyOf[T]{place: at}
			answers[i].answer, answers[i].err = askAt(ctx, c, at, limit, question)
		})
	}
	asked.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(answers, func(a replyOf[T]) bool { return servesNone(a.err) }), nil
}

// servesNone reports whether an error means that a member serves no clients.
func servesNone(err error) bool {
	return errors.Is(err, holdfast.ErrUnsupported) && strings.Contains(err.Error(), "unknown service")
}

// askAt asks one member. A limit of 0 is none.
func askAt[T any](ctx context.Context, c *cli.Command, at place, limit time.Duration, question func(context.Context, *client.Admin) (T, error),
) (answer T, err error) {
	options, err := optionsOf(c)
	if err != nil {
		return answer, err
	}
	admin, err := client.DialAdmin(at.address, options...)
	if err != nil {
		return answer, withoutOp(err)
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	answer, err = question(ctx, admin)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no answer from %s within %v", holdfast.ErrUnavailable, at.address, limit)
	}
	return answer, errors.Join(withoutOp(err), admin.Close())
}

// withoutOp returns an error without the name of the operation, which the sentence around it has.
func withoutOp(err error) error {
	var of *holdfast.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// refusals reports the members that have not answered, or have refused, one in each line. The error has the exit code alone;
// it is nil if there are none.
func refusals[T any](p *program, c *cli.Command, answers []replyOf[T]) error {
	code := 0
	for _, a := range answers {
		if a.err == nil {
			continue
		}
		sentence := fmt.Errorf("%s: member %s: %w", calledAs(c), a.name, a.err)
		p.end(sentence)
		if one := exitCode(sentence); code == 0 || one == exitDenied {
			code = one
		}
	}
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

// extended returns a message of the network API as JSON with one more field.
func extended(message proto.Message, key string, value any) (json.RawMessage, error) {
	more, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write the answer as JSON: %w", err)
	}
	text := api.NewJSON().Append(nil, message)
	return fmt.Appendf(text[:len(text)-1], ",%q:%s}", key, more), nil
}
