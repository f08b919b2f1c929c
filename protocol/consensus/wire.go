package consensus

import (
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// messages lists the messages between members.
var messages = []wire.Type{wire.Message[Envelope](192, bodies...)}

// bodies lists the types that envelopes carry.
var bodies = []wire.Type{
	wire.Message[shard.RaftMessage](193),
	wire.Message[shard.Forward](194),
	wire.Message[shard.Beat](195),
	wire.Message[shard.Beaten](196),
	wire.Message[shard.ReadRequest](197),
	wire.Message[shard.ReadIndex](198),
	wire.Message[shard.SnapshotPart](199),
	wire.Message[shard.SnapshotAck](200),
	wire.Message[TransferLeader](201),
	wire.Message[Founding](202),
	wire.Message[Reform](203),
	wire.Message[Reformed](204),
}

// Carried returns the body.
func (l Envelope) Carried() any { return l.Body }

func (l *Envelope) Code(c *wire.Coder) {
	wire.Fixed(c, &l.Cluster)
	wire.Number(c, &l.Shard)
	wire.Optional(c, &l.Carriage)
	wire.Body(c, &l.Body, bodies)
}

func (f *Founding) Code(c *wire.Coder) {
	wire.FixedNumbers(c, &f.Voters)
}

func (r *Reform) Code(c *wire.Coder) {
	wire.Number(c, &r.ID)
	wire.Fixed(c, &r.Member)
	wire.Enum(c, &r.As, protocol.Voter)
}

func (r *Reformed) Code(c *wire.Coder) {
	wire.Number(c, &r.ID)
	wire.Enum(c, &r.Verdict, LastVerdict)
	wire.Number(c, &r.Lacks)
}

func (y *TransferLeader) Code(c *wire.Coder) {
	wire.Fixed(c, &y.To)
	y.Life = c.Varint(y.Life)
}

func (r *Carriage) Code(c *wire.Coder) {
	wire.Fixed(c, &r.Other)
	c.Bool(&r.Brought)
	c.Bool(&r.Deaf)
}
