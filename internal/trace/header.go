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

// The first line of each life. Another version is refused.
const (
	prefix     = "holdfast trace "
	magic      = prefix + "1"
	keptPrefix = "Log: " // the only field of a keeping
)

// Header is the beginning of a life.
type Header struct {
	about
	Config member.Config
}

// about has the header's fields besides the configuration.
type about struct {
	Holdfast    string   // version of the program
	Protocols   []string // versions that members must agree on
	Started     string   // wall time
	ID          protocol.ID
	Incarnation uint64
	Drawn       []uint64 // random numbers drawn while the machines were made
}

// keeping is the stored log of one of the configuration's spaces: a line each, since there may be many large ones.
type keeping struct {
	Log kept
}

type kept struct {
	Space int // its index among the configuration's, from 0
	Kept  storage.Kept
}

// module is the module path for finding the version if Holdfast is part of another program.
const module = "github.com/holdfast-locks/holdfast"

// version returns the module's build version; "devel" outside a release.
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

// parse parses a line of the header.
func (h *Header) parse(line string, codec *text.Codec) error {
	if !strings.HasPrefix(line, keptPrefix) {
		err := codec.ParseField(line, &h.about)
		if wrong := (*text.Error)(nil); errors.As(err, &wrong) && wrong.Field == "" {
			return codec.ParseField(line, &h.Config) // an unknown field is an error there
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

// versions returns what members must agree on to understand one another.
func versions(s *member.Config) []string {
	var spoken []string
	for _, space := range s.Spaces {
		spoken = append(spoken, space.Protocol)
	}
	slices.Sort(spoken)
	return append([]string{fmt.Sprintf("membership %d", membership.ProtocolVersion)}, slices.Compact(spoken)...)
}

// startOf formats the wall time of a start, for people.
func startOf(wall time.Duration) string {
	return time.Unix(0, int64(wall)).UTC().Format(time.RFC3339Nano)
}
