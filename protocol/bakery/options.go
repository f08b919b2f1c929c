package bakery

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Options are those of a space. All members have the same.
type Options struct {
	protocol.Common
	// Published gives each step of a lock its own message, as in snaplock: 20 messages between leaders, where 8 are
	// enough.
	Published bool
	// Grace is how long a name stays taken after a hold limit has passed, so that its holder, which is notified, can
	// stop. GraceOfHold means snaplock's: as long as the hold limit, and at least a minute. Zero means no grace.
	Grace time.Duration
}

// GraceOfHold is the Grace of snaplock.
const GraceOfHold = time.Duration(-1)

// List binds the fields.
func (o *Options) List() option.List {
	return append(o.Primary("a lock is decided by a majority of the leaders"), option.List{
		{
			Name: "messages", Value: option.Switch{At: &o.Published, Words: [2]string{"merged", "published"}}, Default: "merged",
			Help: "Whether leaders combine the steps of a lock in one message where possible (merged: 8 messages), or send them one by one as snaplock does (published: 20).",
		},
		{
			Name: "grace", Default: "0",
			Value: option.Duration{At: &o.Grace, Least: time.Second, Most: time.Hour, Words: option.Words{{Text: "0"}, {Text: "snaplock", Number: int64(GraceOfHold)}}},
			Help:  "How long a name stays taken after its hold limit, so that the holder can stop; snaplock is as long as the hold limit, and at least a minute.",
		},
	}...)
}

// HasGrace reports whether there is a Grace.
func (o *Options) HasGrace() bool { return o.Grace != 0 }

// New returns a member's machine.
func (o *Options) New(s *protocol.Setup) (protocol.Machine, error) {
	return New(Config{
		Self: s.Self, Founders: s.Founders, Table: s.Table, Patience: s.Patience,
		Priority: s.Priority, Random: s.Random, PID: s.PID, Options: *o,
	})
}

// Descriptor describes the protocol.
func Descriptor() protocol.Descriptor {
	return protocol.Descriptor{
		Name: "bakery", Options: func() protocol.Options { return &Options{} }, Candidates: true,
		Peers: true, Probes: probes(),
		Messages: slices.Concat(messages, local.Messages),
	}
}
