package host

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// spaceRecord records how each space of a data folder was first used. Another protocol cannot use its data, and with
// another number of shards a name would be looked up in the wrong one.
type spaceRecord map[string]spaceShape

// spaceShape is the immutable part of a space.
type spaceShape struct {
	protocol string
	shards   int // 0 if the protocol has none
}

func (s spaceShape) String() string {
	text := "protocol " + s.protocol
	if s.shards > 0 {
		text += fmt.Sprintf(" and shards %d", s.shards)
	}
	return text
}

func shapeOf(s *Space) spaceShape {
	if !s.described.Logs {
		return spaceShape{s.Protocol, 0}
	}
	return spaceShape{s.Protocol, s.options.Parts()}
}

// judge returns an error for a space that differs from its record.
func (r spaceRecord) judge(folder string, spaces []Space) error {
	for i := range spaces {
		s := &spaces[i]
		if was, recorded := r[s.Name]; recorded && was != shapeOf(s) {
			return fmt.Errorf("space %q was created with %v in data folder %s, and is to have %v now; use its earlier settings, or an empty folder",
				s.Name, was, folder, shapeOf(s))
		}
	}
	return nil
}

// add adds the new spaces, and reports whether there are any.
func (r spaceRecord) add(spaces []Space) (more bool) {
	for i := range spaces {
		if _, recorded := r[spaces[i].Name]; !recorded {
			r[spaces[i].Name], more = shapeOf(&spaces[i]), true
		}
	}
	return more
}

// The file is text: a first line with its format, a line for each space, and a checksum.
const (
	spacesPrefix = "holdfast spaces "
	spacesMagic  = spacesPrefix + "1"
)

func (r spaceRecord) encode() []byte {
	text := spacesMagic + "\n"
	for _, name := range slices.Sorted(maps.Keys(r)) {
		text += fmt.Sprintf("%s %s %d\n", strconv.Quote(name), r[name].protocol, r[name].shards)
	}
	sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
	return fmt.Appendf(nil, "%s%08x\n", text, sum)
}

// decodeSpaces parses the output of encode, and nothing else.
func decodeSpaces(text string) (spaceRecord, error) {
	first, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(first, spacesPrefix) && first != spacesMagic {
		return nil, fmt.Errorf("it is %.50q, and this version reads %q; use the version that wrote it", first, spacesMagic)
	}
	recorded := spaceRecord{}
	for line := range strings.Lines(text) {
		var name string
		var shape spaceShape
		if _, err := fmt.Sscanf(line, "%q %s %d\n", &name, &shape.protocol, &shape.shards); err == nil {
			recorded[name] = shape
		}
	}
	if string(recorded.encode()) != text {
		return nil, errors.New("it is damaged; restore the file, or use an empty folder")
	}
	return recorded, nil
}
