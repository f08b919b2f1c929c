package claim

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
	"github.com/holdfast-locks/holdfast/storage"
)

// TestConversations plays each testdata/*.txt: several processes that share a store. Package protocoltest lists the
// commands.
func TestConversations(t *testing.T) {
	protocoltest.PlayStored(t, Descriptor(), reader{})
}

// reader decodes machines' writes.
type reader struct{}

func (reader) Key(key string) string {
	if key == SettingsRow {
		return "settings"
	}
	return key[4+len("locks"):]
}

// Column formats a claim as rid@time, and a shorter column, the beginning of a slice, as a time. A timestamp far from
// the conversation's time stays a number.
func (reader) Column(column string) string {
	switch {
	case column == marks:
		return "mark"
	case column == claimsFrom:
		return "start"
	case strings.Contains(column, "\x00") && column[0] == 'a':
		return strings.Replace(column, "\x00", " by ", 1)
	case len(column) == 8:
		return at(int64(binary.BigEndian.Uint64([]byte(column))))
	}
	if stamp, rid, is := ParseColumn(column); is && column[0] == 0 {
		return rid + "@" + at(stamp)
	}
	return column
}

// at formats a timestamp, in either unit.
func at(stamp int64) string {
	for _, unit := range []Unit{Micro, Milli, Nano} {
		if since := unit.micros(stamp) - protocoltest.Epoch; max(since, -since) < time.Hour.Microseconds() {
			return fmt.Sprint(time.Duration(since) * time.Microsecond)
		}
	}
	return fmt.Sprint(stamp)
}

func (r reader) Entry(e storage.Entry) string {
	switch {
	case e.Column == marks:
		return fmt.Sprintf("mark=%s@%s", e.Value[8:], at(int64(binary.BigEndian.Uint64([]byte(e.Value)))))
	case e.Column == cellColumn:
		return cellText(e.Value)
	}
	text := r.Column(e.Column)
	if _, _, is := ParseColumn(e.Column); !is || len(e.Value) < sayingHead {
		return text
	}
	says, rewrites := decodeSaying(e.Value)
	if rewrites > 0 {
		text += fmt.Sprintf(" rewritten=%d", rewrites)
	}
	if says.value != "" || says.revision != 0 {
		text += fmt.Sprintf(" value=%s revision=%d", says.value, says.revision)
	}
	return text
}

func cellText(value string) string {
	c, is := decodeCell(value)
	text := fmt.Sprintf("free %s", at(int64(c.token)))
	switch {
	case !is:
		return fmt.Sprintf("%q", value)
	case c.held:
		text = fmt.Sprintf("held %s by %s renewals=%d lease=%v", at(int64(c.token)), c.rid, c.renewals, c.lease)
	}
	if c.taken != 0 {
		text += fmt.Sprintf(" since=%s", at(int64(c.taken)))
	}
	if c.says() {
		text += fmt.Sprintf(" value=%s revision=%d", c.value, c.revision)
	}
	if c.flags&waitedFor != 0 {
		text += " waited-for"
	}
	return text
}

func (reader) Foreign(name, who string, at int64) (string, storage.Entry) {
	return Row("locks", name), storage.Entry{Column: Column(at, who), Value: claimValue}
}

func (reader) Settings(text string) (string, storage.Entry) {
	prefix, rest, _ := strings.Cut(text, " ")
	return SettingsRow, storage.Entry{Column: prefix + " claims " + rest + "\x00z#1", Value: "z"}
}
