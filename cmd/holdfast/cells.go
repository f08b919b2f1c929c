package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// formatName makes one word of a name: one that contains a space, or looks like a quoted one, is quoted as in JSON.
func formatName(name string) string {
	if !strings.ContainsFunc(name, unicode.IsSpace) && !strings.HasPrefix(name, `"`) {
		return name
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(name); err != nil {
		return strconv.Quote(name) // cannot happen: it is a string
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// formatValue makes one line of a value, which may have several: line ends and tabs are escaped as in Go. Other
// characters that a terminal obeys are left to the table.
func formatValue(value string) string { return valueEscapes.Replace(value) }

var valueEscapes = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// formatTime formats a time as a cell, in the local zone: the time alone if it is today.
func formatTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	local, now := t.AsTime().Local(), time.Now()
	if local.YearDay() == now.YearDay() && local.Year() == now.Year() {
		return local.Format(time.TimeOnly)
	}
	return local.Format(time.DateTime)
}

// formatMode formats a mode as a cell: with slots, the units and the capacity.
func formatMode(mode schema.Mode, units, capacity int32) string {
	if mode != schema.Mode_MODE_SLOTS {
		return holdfast.Mode(mode).String()
	}
	return fmt.Sprintf("%v %d/%d", holdfast.Mode(mode), units, capacity)
}

// formatToken formats a token as a cell.
func formatToken[T ~uint64](token T) string {
	if token == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(token), 10)
}
