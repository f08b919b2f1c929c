package snapshot

import (
	"errors"
	"hash/crc32"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// The first line.
const (
	prefix = "holdfast snapshot "
	magic  = prefix + "1\n"
)

// The kinds of frames.
const (
	frameHeader byte = 'H'
	frameShard  byte = 'S'
	framePart   byte = 'P'
	frameEnd    byte = 'E'
)

// The bounds of what is read.
const (
	// MaxPart is the most bytes of a part: what a journal takes at once, 1 MiB.
	MaxPart = 1 << 20
	// maxText is that of a header and of a shard's.
	maxText = 64 << 10
	// maxShards is how many shards a space may have.
	maxShards = 256
)

// before and behind a frame's content there are so many bytes.
const (
	before = 5
	behind = 4
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// ErrInvalid is wrapped by all that is wrong with a file. The sentence says what that is.
var ErrInvalid = errors.New("nothing can be restored from it")

// Header says what a file is a copy of.
type Header struct {
	Cluster  string `json:"cluster"` // as the members' status has it
	Space    string `json:"space"`
	Protocol string `json:"protocol"`
	Shards   int    `json:"shards"`
	// Saved is when, by the wall clock of the member that was asked, before it asked the others.
	Saved api.Time `json:"saved"`
	// TTL is the longest that a client of that member may believe in what it holds after it has asked for the last time.
	TTL     api.Duration `json:"ttl"`
	Member  string       `json:"member"`  // the name of the one that was asked
	Version string       `json:"version"` // of its program
}

// Shard says what follows of a shard.
type Shard struct {
	Shard    int    `json:"shard"` // its number, from 0 on
	Reign    uint64 `json:"reign,string"`
	Sessions int    `json:"sessions"`
	Holds    int    `json:"holds"`
	Waiters  int    `json:"waiters"`
	Parts    int    `json:"parts"`
}

// Summary summarizes a whole file.
type Summary struct {
	Header
	Reign    uint64 `json:"reign,string"` // the highest of its shards
	Sessions int    `json:"sessions"`     // of its shards together: one may be known to several
	Holds    int    `json:"holds"`
	Waiters  int    `json:"waiters"`
	Bytes    int64  `json:"bytes"`
}

// add counts a shard.
func (s *Summary) add(shard *Shard) {
	s.Reign = max(s.Reign, shard.Reign)
	s.Sessions, s.Holds, s.Waiters = s.Sessions+shard.Sessions, s.Holds+shard.Holds, s.Waiters+shard.Waiters
}
