package api

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// appender is a document of a listing, which can have a million of them. Its encoder appends to
// what stands already: encoding/json would encode each list and each time apart, check it, and
// copy it, once for each document around it. <, > and & are escaped, as encoding/json does.
type appender interface{ AppendJSON(to []byte) []byte }

// AppendJSON appends the JSON object of l, which may stand in HTML.
func (l *Lock) AppendJSON(to []byte) []byte { return l.appendJSON(to, true) }

// MarshalJSON writes what AppendJSON appends; whether the texts of l itself may stand in HTML is for
// the encoder to say.
func (l Lock) MarshalJSON() ([]byte, error) { return l.appendJSON(nil, false), nil }

func (l *Lock) appendJSON(to []byte, html bool) []byte {
	to = appendString(append(to, `{"space":`...), l.Space, html)
	to = appendString(append(to, `,"name":`...), l.Name, html)
	to = appendString(append(to, `,"mode":`...), l.Mode.String(), html)
	to = appendInt(append(to, `,"units":`...), l.Units)
	to = appendInt(append(to, `,"capacity":`...), l.Capacity)
	if l.Token != 0 {
		to = appendNumber(append(to, `,"token":`...), uint64(l.Token))
	}
	to = appendList(append(to, `,"holders":`...), l.Holders)
	to = appendList(append(to, `,"waiters":`...), l.Waiters)
	to = appendList(append(to, `,"history":`...), l.History)
	return append(to, '}')
}

// AppendJSON appends the JSON object of g, which may stand in HTML.
func (g *Grant) AppendJSON(to []byte) []byte { return g.appendJSON(to, true) }

// MarshalJSON writes what AppendJSON appends; whether the texts of g itself may stand in HTML is for
// the encoder to say.
func (g Grant) MarshalJSON() ([]byte, error) { return g.appendJSON(nil, false), nil }

func (g *Grant) appendJSON(to []byte, html bool) []byte {
	to = appendString(append(to, `{"owner":`...), g.Owner, html)
	to = appendString(append(to, `,"session":`...), g.Session, html)
	to = appendString(append(to, `,"member":`...), g.Member, html)
	to = appendString(append(to, `,"client":`...), g.Client, html)
	to = appendString(append(to, `,"mode":`...), g.Mode.String(), html)
	to = appendInt(append(to, `,"units":`...), g.Units)
	to = appendNumber(append(to, `,"token":`...), uint64(g.Token))
	to = g.Since.appendJSON(append(to, `,"since":`...))
	if !g.Until.IsZero() {
		to = g.Until.appendJSON(append(to, `,"until":`...))
	}
	to = appendString(append(to, `,"reason":`...), g.Reason, html)
	if g.Grace {
		to = append(to, `,"grace":true`...)
	}
	return append(to, '}')
}

// AppendJSON appends the JSON object of w, which may stand in HTML.
func (w *Wait) AppendJSON(to []byte) []byte { return w.appendJSON(to, true) }

// MarshalJSON writes what AppendJSON appends; whether the texts of w itself may stand in HTML is for
// the encoder to say.
func (w Wait) MarshalJSON() ([]byte, error) { return w.appendJSON(nil, false), nil }

func (w *Wait) appendJSON(to []byte, html bool) []byte {
	to = appendString(append(to, `{"owner":`...), w.Owner, html)
	to = appendString(append(to, `,"session":`...), w.Session, html)
	to = appendString(append(to, `,"member":`...), w.Member, html)
	to = appendString(append(to, `,"client":`...), w.Client, html)
	to = appendString(append(to, `,"mode":`...), w.Mode.String(), html)
	to = appendInt(append(to, `,"units":`...), w.Units)
	to = w.Since.appendJSON(append(to, `,"since":`...))
	if !w.Until.IsZero() {
		to = w.Until.appendJSON(append(to, `,"until":`...))
	}
	to = appendInt(append(to, `,"position":`...), w.Position)
	to = appendString(append(to, `,"reason":`...), w.Reason, html)
	if w.For != nil {
		to = append(to, `,"for":[`...)
		for i, member := range w.For {
			to = appendString(separate(to, i), member, true)
		}
		to = append(to, ']')
	}
	return append(to, '}')
}

// appendList appends the array of l.
func appendList[T any, P interface {
	*T
	appender
}](to []byte, l []T) []byte {
	to = append(to, '[')
	for i := range l {
		to = P(&l[i]).AppendJSON(separate(to, i))
	}
	return append(to, ']')
}

// separate appends what stands before element i of an array.
func separate(to []byte, i int) []byte {
	if i == 0 {
		return to
	}
	return append(to, ',')
}

// appendJSON appends t as a string.
func (t Time) appendJSON(to []byte) []byte {
	to = append(to, '"')
	if !t.IsZero() {
		to = t.UTC().AppendFormat(to, timeLayout)
	}
	return append(to, '"')
}

// appendNumber appends n as a string, as it has all numbers that a float64 may not hold.
func appendNumber(to []byte, n uint64) []byte {
	return append(strconv.AppendUint(append(to, '"'), n, 10), '"')
}

func appendInt(to []byte, n int) []byte { return strconv.AppendInt(to, int64(n), 10) }

// appendString appends s as a string. What has to be escaped is left to encoding/json.
func appendString(to []byte, s string, html bool) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf, html && (c == '<' || c == '>' || c == '&'):
			return appendEscaped(to, s, html)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

func appendEscaped(to []byte, s string, html bool) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(html)
	_ = encoder.Encode(s) // a string is always encoded, and a bytes.Buffer takes everything
	return append(to, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}
