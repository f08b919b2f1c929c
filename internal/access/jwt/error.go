package jwt

import (
	"errors"
	"fmt"
)

// Kinds of refusals, for metrics.
const (
	KindExpired     = "expired"
	KindNotYetValid = "not_yet_valid"
	KindAudience    = "audience"
	KindIssuer      = "issuer"
	KindSignature   = "signature"
	KindAlgorithm   = "algorithm"
	KindMalformed   = "malformed"
	KindUnreachable = "unreachable"
)

// Error is the refusal of a token.
type Error struct {
	// Kind is one of the constants above.
	Kind string
	// Issuer is the URL of the token's issuer; empty if the token does not say.
	Issuer string

	text  string
	cause error // nil if there is nothing to add
}

// Error returns a sentence. It has no part of the token but claims.
func (e *Error) Error() string {
	text := e.text
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if e.Issuer == "" {
		return "token: " + text
	}
	return fmt.Sprintf("token of issuer %.200q: %s", e.Issuer, text)
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

func refuse(kind, issuer, format string, arguments ...any) *Error {
	return &Error{Kind: kind, Issuer: issuer, text: fmt.Sprintf(format, arguments...)}
}

// Kind returns the kind of a refusal, or "" for another error.
func Kind(err error) string {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Kind
	}
	return ""
}
