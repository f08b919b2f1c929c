package edge

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
)

// UnreadAnswers is the name of the limit on a client's unread answers.
const UnreadAnswers = "unread_answers"

// ErrSuperseded ends the earlier stream of a session that a later one resumes.
var ErrSuperseded = errors.New("a later stream has resumed this session")

// ErrSession returns the error for a session that has ended or whose secret is wrong.
func ErrSession(id lock.SessionID) error {
	return api.Fail(api.CodeUnknownSession, fmt.Sprintf("session %v: unknown, or it has ended, or its secret is wrong", id))
}

// NotYours returns a member's error after its session machine has refused a client's session.
func NotYours(id lock.SessionID, why error) error {
	switch {
	case errors.Is(why, session.ErrForeign), errors.Is(why, holdfast.ErrUnavailable):
		return why
	case errors.Is(why, session.ErrTakenOver):
		return errTakenOver(id)
	}
	return ErrSession(id)
}

// errTakenOver refuses the former client of a session that was taken over, and ends its stream. It is an
// unknown_session, which also ends the clients of older programs, with the reason.
func errTakenOver(id lock.SessionID) error {
	return &api.Failure{
		Code: api.CodeUnknownSession, Detail: fmt.Sprintf("session %v: taken over by another client", id), Err: holdfast.EndedByAnother,
	}
}

// errExpired ends the stream of a session that has ended: because it was not renewed in time, or for the given reason.
func errExpired(why error) error {
	text := "it was not renewed in time"
	if why != nil {
		text = why.Error()
	}
	return api.Fail(api.CodeUnknownSession, "unknown session: "+text)
}

// errSlow ends the stream of a client that does not read its answers.
func (c *Config) errSlow() error {
	return &api.Failure{
		Code:   api.CodeLimit,
		Detail: fmt.Sprintf("more than %d events or %d bytes were waiting to be read; resume the session and read faster", c.Events, c.Bytes),
		Err:    &holdfast.LimitError{Limit: UnreadAnswers, Value: int64(c.Events)},
	}
}

// checkID returns what is wrong with the id of an operation that may be 0.
func checkID(id uint64) error {
	if id <= MaxID {
		return nil
	}
	return badID(id)
}

func badID(id uint64) error {
	return api.Fail(api.CodeBadRequest, fmt.Sprintf("operation id %d: want 1 to %d", id, uint64(MaxID)))
}

// CheckTTL returns what is wrong with a requested ttl; 0 requests the default. A ttl longer than the member allows is
// cut.
func CheckTTL(ttl time.Duration) error {
	if ttl == 0 || time.Millisecond <= ttl {
		return nil
	}
	return api.Fail(api.CodeBadRequest, fmt.Sprintf("ttl %v: want %v or more", ttl, time.Millisecond))
}

// WhyCut returns why a client gets less than the requested ttl; "" if it does not.
func WhyCut(cut session.Cut) string {
	switch cut {
	case session.CutByLimit:
		return "limits.ttl of this member allows no more"
	case session.CutByHorizon:
		return "a member keeps no folder (state none) or cannot write to it, and so no more is promised"
	case session.CutByEnrolment:
		return "the session was opened with no more"
	}
	return ""
}

// FormatSecret returns the secret in the form for clients.
func FormatSecret(secret session.Secret) string { return hex.EncodeToString(secret[:]) }

// ParseSecret parses the form of FormatSecret and reports whether it is well formed.
func ParseSecret(text string) (secret session.Secret, ok bool) {
	if len(text) != hex.EncodedLen(len(secret)) {
		return secret, false
	}
	n, err := hex.Decode(secret[:], []byte(text))
	return secret, err == nil && n == len(secret)
}

// clip shortens an unchecked name for an error.
func clip(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), holdfast.MaxName)], "")
}
