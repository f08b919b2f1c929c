package jwt

import (
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	jose_jwt "github.com/go-jose/go-jose/v4/jwt"
)

// skew is how far the clocks of an issuer and of a member may differ.
const skew = time.Minute

// mostText bounds a subject and a group, in bytes.
const mostText = 255

// Claims are what a verified token says.
type Claims struct {
	// Issuer is the URL of the issuer, as configured.
	Issuer string
	// Subject identifies the caller at the issuer.
	Subject string
	// Groups are the caller's groups, in the order of the token. Nil if the issuer has no claim of groups.
	Groups []string
	// Expires is the time until which the token is accepted, without the allowance for clocks.
	Expires time.Time
}

// check checks the claims of a token with a valid signature. The error is an *Error.
func check(of Issuer, u *unverified, now time.Time) (registered *jose_jwt.Claims, claims Claims, err error) {
	registered = &jose_jwt.Claims{}
	var all map[string]any
	if err := u.token.UnsafeClaimsWithoutVerification(registered, &all); err != nil {
		return nil, claims, refuse(KindMalformed, of.URL, "its claims are not a JSON object, or those that are registered are of a wrong type")
	}
	if registered.Expiry == nil {
		return nil, claims, refuse(KindMalformed, of.URL, "it has no time of expiry (exp)")
	}
	if err := validate(of, registered, now); err != nil {
		return nil, claims, err
	}
	if err := checkText(registered.Subject); err != nil {
		return nil, claims, &Error{KindMalformed, of.URL, "its subject (sub) is refused", err}
	}
	groups, err := groupsOf(of, all)
	if err != nil {
		return nil, claims, err
	}
	return registered, Claims{Issuer: of.URL, Subject: registered.Subject, Groups: groups, Expires: registered.Expiry.Time()}, nil
}

// validate checks the issuer, the audience and the times of a token. The error is an *Error.
func validate(of Issuer, claims *jose_jwt.Claims, now time.Time) error {
	err := claims.ValidateWithLeeway(jose_jwt.Expected{
		Issuer: of.URL, AnyAudience: jose_jwt.Audience{of.Audience}, Time: now,
	}, skew)
	switch {
	case errors.Is(err, jose_jwt.ErrInvalidIssuer):
		return refuse(KindIssuer, of.URL, "its issuer (iss) is %.200q", claims.Issuer)
	case errors.Is(err, jose_jwt.ErrInvalidAudience):
		return refuse(KindAudience, of.URL, "its audience (aud) is %.300q and not %q", []string(claims.Audience), of.Audience)
	case errors.Is(err, jose_jwt.ErrExpired):
		return refuse(KindExpired, of.URL, "expired at %s; get a new one", instant(claims.Expiry))
	case errors.Is(err, jose_jwt.ErrNotValidYet):
		return refuse(KindNotYetValid, of.URL, "not valid before %s; it is %s here", instant(claims.NotBefore), now.UTC().Format(time.RFC3339))
	case errors.Is(err, jose_jwt.ErrIssuedInTheFuture):
		return refuse(KindNotYetValid, of.URL, "issued at %s, in the future; it is %s here", instant(claims.IssuedAt), now.UTC().Format(time.RFC3339))
	case err != nil:
		return &Error{KindMalformed, of.URL, "its claims are refused", err}
	}
	return nil
}

// instant formats a time of a token for sentences.
func instant(t *jose_jwt.NumericDate) string { return t.Time().UTC().Format(time.RFC3339) }

// groupsOf returns the groups in the issuer's claim, which is a string or a list of strings. A token without the claim
// has none.
func groupsOf(of Issuer, all map[string]any) ([]string, error) {
	var list []any
	switch value := all[of.Groups].(type) {
	case nil:
		return nil, nil
	case string:
		list = []any{value}
	case []any:
		list = value
	default:
		return nil, refuse(KindMalformed, of.URL, "its claim %q is neither a text nor a list of texts", of.Groups)
	}
	groups := make([]string, 0, len(list))
	for _, one := range list {
		group, is := one.(string)
		if !is {
			return nil, refuse(KindMalformed, of.URL, "its claim %q is a list of other things than texts", of.Groups)
		}
		if err := checkText(group); err != nil {
			return nil, &Error{KindMalformed, of.URL, fmt.Sprintf("a group in its claim %q is refused", of.Groups), err}
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// checkText returns why a text does not name a subject or a group: what is shown to people must be what is compared.
func checkText(text string) error {
	switch {
	case text == "":
		return errors.New("it is empty")
	case len(text) > mostText:
		return fmt.Errorf("it has %d bytes; at most %d are accepted", len(text), mostText)
	case !utf8.ValidString(text):
		return errors.New("it is not UTF-8")
	}
	for _, r := range text {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError {
			return fmt.Errorf("it has the character %U, which cannot be shown", r)
		}
	}
	return nil
}
