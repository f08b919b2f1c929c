package recording

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/recording/literal"
	"github.com/holdfast-locks/holdfast/seat"
)

// The first line of each life. Another version is refused rather than guessed at.
const (
	prefix = "holdfast recording "
	magic  = prefix + "1"
)

// Header is what a life began with.
type Header struct {
	about
	Seat seat.Seat
}

// about is what the header has beside the seat.
type about struct {
	Holdfast    string   // the version of the program
	Protocols   []string // what members must agree on, with versions
	Started     string   // by the wall clock
	ID          protocol.ID
	Incarnation uint64
	Drawn       []uint64 // by chance, while the machines were made
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
func (h *Header) appendTo(b []byte, codec *literal.Codec) ([]byte, error) {
	b = append(append(b, magic...), '\n')
	b, err := codec.AppendFields(b, &h.about)
	if err != nil {
		return b, err
	}
	if b, err = codec.AppendFields(b, &h.Seat); err != nil {
		return b, err
	}
	return append(b, '\n'), nil
}

// versions says what members must agree on to understand one another.
func versions(s *seat.Seat) []string {
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
