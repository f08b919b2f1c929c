package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/config"
)

// The table of exit codes, row by row.
func TestExitCodes(t *testing.T) {
	about := func(err error) error { return &holdfast.Error{Op: "lock", Name: "orders/42", Err: err} }
	for _, row := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{usageError("lock", "no name"), 64},
		{about(holdfast.ErrName), 65},
		{about(holdfast.ErrSpace), 65},
		{about(holdfast.ErrConflict), 65},
		{about(holdfast.ErrUnavailable), 69},
		{about(holdfast.ErrClosed), 69},
		{context.DeadlineExceeded, 69},
		{errors.New("a surprise"), 70},
		{about(&holdfast.HeldError{Owner: "job-7"}), 75},
		{about(holdfast.ErrUnsupported), 76},
		{about(holdfast.ErrDenied), 77},
		{about(&holdfast.LimitError{Limit: "sessions", Value: 1}), 77},
		{misconfigured("no key"), 78},
		{fmt.Errorf("serve: %w", &config.Error{Problems: []config.Problem{{Key: "lease"}}}), 78},
		{about(holdfast.SessionExpired), 79},
		{about(holdfast.ErrNotHeld), 79},
		{about(holdfast.Broken), 81},
		{about(holdfast.ErrClass), 82},
		{&exitError{code: 143}, 143},
	} {
		if got := exitCode(row.err); got != row.want {
			t.Errorf("%v: %d, want %d", row.err, got, row.want)
		}
	}
}

func TestPlainSentences(t *testing.T) {
	for sentence, want := range map[string]string{
		`status: unavailable: no member reachable at a:1: dial tcp 10.0.0.1:1: connect: connection refused`: `status: unavailable: no member reachable at a:1: connection refused`,
		`connection error: desc = "transport: Error while dialing: dial unix /x: connect: no such file"`:    `no such file`,
		`connection error: desc = "error reading server preface: EOF"`:                                      `it closed the connection at once; a member with TLS needs --tls-ca FILE`,
		`write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe`:                                            `broken pipe`,
		`lock "dial M for murder": held by tcp on b`:                                                        `lock "dial M for murder": held by tcp on b`,
	} {
		if got := plain(sentence); got != want {
			t.Errorf("%s\n  became %s\n  want   %s", sentence, got, want)
		}
	}
}
