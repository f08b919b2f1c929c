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

// Limits of the input.
const (
	// MaxPart is the maximum size of a part: the maximum of a journal, 1 MiB.
	MaxPart = 1 << 20
	// maxText is the maximum size of the file's header and of a shard's.
	maxText = 64 << 10
	// maxShards is the maximum number of shards of a space.
	maxShards = 256
)

// Number of bytes before and after a frame's content.
const (
	before = 5
	behind = 4
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// ErrInvalid is wrapped by all errors about a file. The sentence names the fault.
var ErrInvalid = errors.New("nothing can be restored from it")

// Header identifies the copied space and its cluster.
type Header struct {
	Cluster  string `json:"cluster"` // as in the members' status
	Space    string `json:"space"`
	Protocol string `json:"protocol"`
	Shards   int    `json:"shards"`
	// Saved is the wall time at the answering member, before it asked the others.
	Saved api.Time `json:"saved"`
	// TTL is the maximum time that a client of that member may believe in its holds after its last request.
	TTL     api.Duration `json:"ttl"`
	Member  string       `json:"member"`  // name of the answering member
	Version string       `json:"version"` // of its program
}

// Shard describes the following data of a shard.
type Shard struct {
	Shard    int    `json:"shard"` // its number, from 0
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
	Sessions int    `json:"sessions"`     // sum over its shards: a session may count several times
	Holds    int    `json:"holds"`
	Waiters  int    `json:"waiters"`
	Bytes    int64  `json:"bytes"`
}

// add counts a shard.
func (s *Summary) add(shard *Shard) {
	s.Reign = max(s.Reign, shard.Reign)
	s.Sessions, s.Holds, s.Waiters = s.Sessions+shard.Sessions, s.Holds+shard.Holds, s.Waiters+shard.Waiters
}
