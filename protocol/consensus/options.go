package consensus

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Options are those of a space. All members have the same.
type Options struct {
	protocol.Common
	// Shards is the number of shards, fixed from the first start on; up to MaxShards. Zero means 1.
	Shards int
	// Autopilot is how long a voter is neither heard nor present before others continue without it; at least
	// LeastAutopilot. NoAutopilot disables that; zero means DefaultAutopilot.
	Autopilot time.Duration
	// Election is how long a leader is silent before another is sought. Zero means 1 s.
	Election time.Duration
	// Every is the number of entries between snapshots, Keep the number of entries before it that stay. Zero means
	// 10,000 and 1,000.
	Every, Keep uint64
	// Part is the size to which a part of a snapshot grows, in bytes. Zero means 128 KiB.
	Part int
}

// The longest Autopilot.
const longestAutopilot = 30 * 24 * time.Hour

// List binds the fields.
func (o *Options) List() option.List {
	list := o.Primary("a lock is decided by a majority of the voters")
	list[1].Value = option.Switch{At: &o.Preempt, Only: true}
	list[1].Refused = map[string]option.Reason{"true": {Wrong: "no coordinator decides its locks", Fix: "leave it out for false"}}
	return append(list, option.List{
		{
			Name: "shards", Value: option.Count[int]{At: &o.Shards, Most: MaxShards}, Default: "1",
			Help: "Number of parts that the names are split into, each with its own leader; fixed at the first start.",
		},
		{
			Name: "autopilot", Default: "1h",
			Value: option.Duration{At: &o.Autopilot, Least: LeastAutopilot, Most: longestAutopilot, Words: option.Words{{Text: "off", Number: int64(NoAutopilot)}}},
			Help:  "How long a voter may be gone before the others take its vote away; off is never.",
		},
		{
			Name: "election", Value: option.Duration{At: &o.Election, Least: time.Millisecond, Most: time.Hour}, Tuning: true,
			Help: "How long a leader may be silent before another election.",
		},
		{
			Name: "snapshot_every", Value: option.Count[uint64]{At: &o.Every, Most: 1 << 40}, Tuning: true,
			Help: "Number of entries between two snapshots.",
		},
		{
			Name: "snapshot_keep", Value: option.Count[uint64]{At: &o.Keep, Most: 1 << 40}, Tuning: true,
			Help: "Number of entries kept before a snapshot.",
		},
		{
			Name: "snapshot_part", Value: option.Count[int]{At: &o.Part, Most: 1 << 30}, Tuning: true,
			Help: "Size of the parts of a snapshot, in bytes.",
		},
	}...)
}

// Parts are the shards.
func (o *Options) Parts() int { return max(1, o.Shards) }

// New returns a member's machine.
func (o *Options) New(s *protocol.Setup) (protocol.Machine, error) {
	return New(Config{
		Self: s.Self, Life: s.Life, Founders: s.Founders, Founder: s.Founder, Space: s.Space,
		Log: s.Log, Logs: s.Logs, Table: s.Table, Lease: s.Lease, Sessions: s.Sessions, Random: uint64(s.Random), Above: s.Above, Options: *o,
	})
}

// Descriptor describes the protocol.
func Descriptor() protocol.Descriptor {
	return protocol.Descriptor{
		Name: "consensus", Options: func() protocol.Options { return &Options{} }, Lasting: true, Logs: true,
		Probes:   probes(),
		Messages: messages,
	}
}
