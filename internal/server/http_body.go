package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// read takes the parts of a request that its route knows. Any other part is refused and
// named.
func (c *exchange) read(t *route, space, name string, limits Limits) error {
	var err1, err2 error
	c.space, err1 = url.PathUnescape(space)
	c.name, err2 = url.PathUnescape(name)
	if err := errors.Join(err1, err2); err != nil {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("path %.200q: %v", c.r.URL.EscapedPath(), err))
	}
	if slices.Contains(t.path, "{space}") && c.space == "" {
		return api.Fail(api.CodeUnknownSpace, "the path names no space; it is mostly called default")
	}
	if err := c.readQuery(t.query); err != nil {
		return err
	}
	if t.method != http.MethodPost {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("content type %.100q: want application/json", c.r.Header.Get("Content-Type")))
	}
	if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("content encoding %.40q: want none", encoding))
	}
	return c.readBody(limits)
}

func (c *exchange) readQuery(known []string) error {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("query: %v", err))
	}
	c.query = map[string]string{}
	for name, given := range values {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("unknown query parameter %.80q: this call has none", name))
		case !slices.Contains(known, name):
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("unknown query parameter %.80q: want one of %s", name, strings.Join(known, ", ")))
		case len(given) > 1:
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("query parameter %s: it is given %d times", name, len(given)))
		}
		c.query[name] = given[0]
	}
	return nil
}

// limitRead says until when the rest of the request must have come; the zero time is
// no limit. It does nothing on a server that knows no deadlines.
func (c *exchange) limitRead(at time.Time) error {
	err := http.NewResponseController(c.w).SetReadDeadline(at)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("read the body: %v", err))
	}
	return nil
}

// readBody reads the body within its limits of size and time. After it the
// connection has no limit in time: the request may wait.
func (c *exchange) readBody(limits Limits) error {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limits.MessageBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return api.Fail(api.CodeTooLarge, fmt.Sprintf("the body has more than %d bytes, which message_bytes allows", limits.MessageBytes))
	case err != nil:
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("read the body: %v", err))
	}
	c.body = body
	return c.limitRead(time.Time{})
}

// fields are the fields of a body that a call knows, and where they go.
type fields map[string]func(raw json.RawMessage) error

// decode reads the body, one JSON object, into fields, and returns which of them it
// has. Unknown and repeated fields, nulls, and anything behind the object are
// refused.
func (c *exchange) decode(known fields) (has map[string]bool, err error) {
	defer func() {
		if err != nil {
			err = api.BadRequest(err)
		}
	}()
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil, errors.New("the body is empty; want a JSON object")
	}
	if !utf8.Valid(c.body) {
		return nil, errors.New("the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errors.New("the body is no JSON object")
	}
	has = map[string]bool{}
	for decoder.More() {
		if err := known.decodeField(decoder, has); err != nil {
			return nil, err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, noJSON(decoder, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the body goes on behind its JSON object, at byte %d", decoder.InputOffset())
	}
	return has, nil
}

func (f fields) decodeField(decoder *json.Decoder, has map[string]bool) error {
	token, err := decoder.Token()
	if err != nil {
		return noJSON(decoder, err)
	}
	name, _ := token.(string)
	set := f[name]
	switch {
	case set == nil:
		return fmt.Errorf("unknown field %.80q: want %s", name, f.names())
	case has[name]:
		return fmt.Errorf("field %s is given twice", name)
	}
	has[name] = true
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return noJSON(decoder, err)
	}
	if string(raw) == "null" {
		return fmt.Errorf("%s: null; leave it out instead", name)
	}
	if err := set(raw); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (f fields) names() string {
	var names []string
	for name := range f {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func noJSON(decoder *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return fmt.Errorf("the body is no JSON, at byte %d: %w", decoder.InputOffset(), err)
}

// excerpt cuts a value for a message.
func excerpt(raw []byte) string {
	const most = 60
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}

func text(into *string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if err := json.Unmarshal(raw, into); err != nil {
			return fmt.Errorf("%s: want a string", excerpt(raw))
		}
		return nil
	}
}

func texts(into *[]string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var each []*string
		if err := json.Unmarshal(raw, &each); err != nil || slices.Contains(each, nil) {
			return fmt.Errorf("%s: want a list of strings", excerpt(raw))
		}
		for _, one := range each {
			*into = append(*into, *one)
		}
		return nil
	}
}

func number(into *int) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		n, err := strconv.ParseInt(string(raw), 10, 32)
		if err != nil {
			return fmt.Errorf("%s: want a whole number of at most 2147483647", excerpt(raw))
		}
		*into = int(n)
		return nil
	}
}

// duration takes a length of time of at least least.
func duration(into *time.Duration, least time.Duration) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var given string
		err := json.Unmarshal(raw, &given)
		if err == nil {
			*into, err = time.ParseDuration(given)
		}
		if err != nil {
			return fmt.Errorf("%s: want a string with a unit, as in \"10s\" or \"1m30s\"", excerpt(raw))
		}
		if *into < least {
			return fmt.Errorf("%v: want at least %v", *into, least)
		}
		return nil
	}
}

func token(into *holdfast.Token) func(json.RawMessage) error {
	return func(raw json.RawMessage) (err error) {
		var given string
		if err := json.Unmarshal(raw, &given); err != nil {
			return fmt.Errorf("%s: want a decimal number in quotes", excerpt(raw))
		}
		*into, err = holdfast.ParseToken(given)
		return err
	}
}

// parsed takes one of the words that parse knows.
func parsed[T any](into *T, parse func(string) (T, error)) func(json.RawMessage) error {
	return func(raw json.RawMessage) (err error) {
		var given string
		if err := json.Unmarshal(raw, &given); err != nil {
			return fmt.Errorf("%s: want a string", excerpt(raw))
		}
		*into, err = parse(given)
		return err
	}
}
