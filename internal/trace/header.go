package trace

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/trace/text"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// The first line of each life. Another version is refused rather than guessed at.
const (
	prefix     = "holdfast trace "
	magic      = prefix + "1"
	keptPrefix = "Log: " // the one field of a keeping
)

// Header describes the beginning of a life.
type Header struct {
	about
	Config member.Config
}

// about is what the header has besides the configuration.
type about struct {
	Holdfast    string   // the version of the program
	Protocols   []string // what members must agree on, with versions
	Started     string   // by the wall clock
	ID          protocol.ID
	Incarnation uint64
	Drawn       []uint64 // by chance, while the machines were made
}

// keeping is what a log of one of the configuration's spaces has kept: a line for each, since there may be
// many, and much in each.
type keeping struct {
	Log kept
}

type kept struct {
	Space int // its place among the configuration's, from 0 on
	Kept  storage.Kept
}

// module is where the version is found if Holdfast is part of another program.
const module = "github.com/holdfast-locks/holdfast"

// version is that of the module as it was built; "devel" outside a release.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	found := info.Main.Version
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			found = dependency.Version
		}
	}
	if found == "" || found == "(devel)" {
		return "devel"
	}
	return found
}

// appendTo appends the text of the header, with the empty line that ends it.
func (h *Header) appendTo(b []byte, codec *text.Codec) ([]byte, error) {
	b = append(append(b, magic...), '\n')
	b, err := codec.AppendFields(b, &h.about)
	if err != nil {
		return b, err
	}
	plain := h.Config
	plain.Spaces = slices.Clone(plain.Spaces)
	for i := range plain.Spaces {
		plain.Spaces[i].Logs = nil
	}
	if b, err = codec.AppendFields(b, &plain); err != nil {
		return b, err
	}
	for i := range h.Config.Spaces {
		for _, log := range h.Config.Spaces[i].Logs {
			if b, err = codec.AppendFields(b, &keeping{kept{i, log}}); err != nil {
				return b, err
			}
		}
	}
	return append(b, '\n'), nil
}

// parse reads a line of the header.
func (h *Header) parse(line string, codec *text.Codec) error {
	if !strings.HasPrefix(line, keptPrefix) {
		err := codec.ParseField(line, &h.about)
		if wrong := (*text.Error)(nil); errors.As(err, &wrong) && wrong.Field == "" {
			return codec.ParseField(line, &h.Config) // it has no such field
		}
		return err
	}
	var k keeping
	if err := codec.ParseField(line, &k); err != nil {
		return err
	}
	if k.Log.Space < 0 || k.Log.Space >= len(h.Config.Spaces) {
		return fmt.Errorf("log %d is of space %d; there are %d, from 0 on", k.Log.Kept.Log, k.Log.Space, len(h.Config.Spaces))
	}
	space := &h.Config.Spaces[k.Log.Space]
	space.Logs = append(space.Logs, k.Log.Kept)
	return nil
}

// versions says what members must agree on to understand one another.
func versions(s *member.Config) []string {
	var spoken []string
	for _, space := range s.Spaces {
		spoken = append(spoken, space.Protocol)
	}
	slices.Sort(spoken)
	return append([]string{fmt.Sprintf("membership %d", membership.ProtocolVersion)}, slices.Compact(spoken)...)
}

// startOf is the wall time of a start, for people.
func startOf(wall time.Duration) string {
	return time.Unix(0, int64(wall)).UTC().Format(time.RFC3339Nano)
}
