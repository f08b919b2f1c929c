package client

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-locks/holdfast"
)

// Credentials returns what another process needs to continue as this client once this process has ended: see
// [Succeed]. They include the session's secret, so keep them secret. They are "" while there is no session.
func (c *Client) Credentials() string {
	return present(c, func(s *backing) string {
		return s.ID + "." + s.Secret + "." + strconv.FormatUint(c.settings.number, 36)
	})
}

// Succeed continues as a Client of a process that has ended, by its [Client.Credentials]. To the members it is the same
// client, which has connected again: its Close frees the names of the session at once. Dial returns an ErrLost if the
// session no longer exists.
//
// Only a process that knows that the earlier one has ended, with everything that relied on its locks, may use it. If
// that is not known, use [Resume]: the members then keep the names until the earlier client's deadline.
func Succeed(credentials string) Option {
	return func(s *settings) {
		s.resume, s.succeeds = true, true
		parts := strings.Split(credentials, ".")
		if len(parts) != 3 {
			return
		}
		s.session, s.secret = parts[0], parts[1]
		if number, err := strconv.ParseUint(parts[2], 36, 64); err == nil {
			s.number = number
		}
	}
}

// checkResume returns what is missing for the session to resume. An error names no secret.
func (s *settings) checkResume() error {
	switch {
	case s.succeeds && (s.session == "" || s.secret == "" || s.number == 0):
		return fmt.Errorf("%w: credentials: want those that Client.Credentials returns", holdfast.ErrConflict)
	case s.resume && (s.session == "" || s.secret == ""):
		return fmt.Errorf("%w: resume needs both the session's id and its secret", holdfast.ErrConflict)
	}
	return nil
}
