package group

import (
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// How long a leader may be silent has to follow how long messages take. What is right between machines of one room seeks new
// leaders for ever where a round trip takes as long as an election timeout: votes come when the next ones are asked for, and a
// leader steps down before those who follow it could have answered.
//
// So each member measures round trips. A leader's beats, and the question whether votes would be given, have the time of their
// sender's clock with them, which the answer brings back; beats have what the leader has measured, too. The election timeout
// is paceOf such round trips, and E at least. A leader beats as much less often.
//
// The library has beats carry the number of a read until that is confirmed. Where members say all the time that they have heard
// sessions, some read is always under way, so those beats have a time, too, behind the number.

const (
	// paceOf is how many round trips there are in an election timeout: a beat that a member has others confirm takes three.
	paceOf = 4
	// MostPace is how many times E an election timeout may be.
	MostPace = 10
	// samples is of how many round trips the shortest counts: one message may be late, and the link is not.
	samples = 4
)

// pace is what is known of round trips.
type pace struct {
	of     map[uint64][]Time // the latest, by member
	trip   Time              // to a majority, by these
	said   Time              // what the leader has measured; 0 for nothing
	echoes map[uint64][]byte // the times that others' questions for votes had, which go with the answers
}

// stamp is a time and a round trip, in milliseconds, in the context of a message. It stands alone or behind the library's number of a
// read, whose bytes may be any: the length tells which of them there is. Its life tells one life of the member, which has a clock of
// its own, from others.
type stamp struct {
	at   uint32
	life uint16
	trip Time
}

func (s stamp) append() []byte {
	const most = 1<<16 - 1
	ms := min(uint64(s.trip/time.Millisecond), most)
	return binary.BigEndian.AppendUint64([]byte{stampFormat}, ms<<48|uint64(s.life)<<32|uint64(s.at))
}

// stampFormat is the first byte of a stamp, and stampBytes how many it has.
const (
	stampFormat = 1
	stampBytes  = 9
)

// readBytes is how long the library's number of a read is.
const readBytes = 8

// unstamp takes the stamp off a context, if it has one. What is left is the number of a read, or nothing.
func unstamp(context []byte) (read []byte, s stamp, is bool) {
	at := len(context) - stampBytes
	if at != 0 && at != readBytes || context[at] != stampFormat {
		return context, s, false
	}
	v := binary.BigEndian.Uint64(context[at+1:])
	return context[:at:at], stamp{uint32(v), uint16(v >> 32), Time(v>>48) * time.Millisecond}, true
}

// stamp is that of now.
func (g *Group) stamp(trip Time) []byte {
	return stamp{at: uint32(g.now / time.Millisecond), life: uint16(g.config.Random), trip: trip}.append()
}

// Trip is how long a round trip takes to as many voters as make a majority with this member, or to those of the leader by what it
// says; 0 where that is not known.
func (g *Group) Trip() Time {
	if g.Leading() {
		return g.pace.trip
	}
	return max(g.pace.trip, g.pace.said)
}

// recount finds how long a round trip takes to a majority.
func (g *Group) recount() {
	voters := g.conf.GetVoters()
	var known []Time
	for _, v := range voters {
		if all := g.pace.of[v]; v != g.config.Self && len(all) > 1 { // the first may be late
			known = append(known, slices.Min(all))
		}
	}
	g.pace.trip = 0
	if slices.Sort(known); len(known) > 0 {
		g.pace.trip = known[min(len(known), max(1, len(voters)/2))-1]
	}
}

// Election is the election timeout: E, or more where round trips are long.
func (g *Group) Election() Time {
	return min(max(g.config.Election, paceOf*g.Trip()), MostPace*g.config.Election)
}

// heartbeat is how often a leader beats: the library steps down after so many beats as an election timeout has.
func (g *Group) heartbeat() Time {
	return Time(float64(g.config.Heartbeat) * (float64(g.Election()) / float64(g.config.Election)))
}

// mark puts a stamp on what is sent, where its answer is to bring it back; or brings another member's back. Of these messages the
// library gives a context to beats alone.
func (g *Group) mark(m *Message) {
	switch raftpb.MessageType(m.Kind) {
	case raftpb.MsgHeartbeat:
		m.Context = append(slices.Clip(m.Context), g.stamp(g.Trip())...)
	case raftpb.MsgPreVote:
		m.Context = g.stamp(0)
	case raftpb.MsgPreVoteResp:
		m.Context = g.pace.echoes[m.To]
	}
}

// measure takes what the stamp on a message says.
func (g *Group) measure(now Time, m *Message) {
	_, s, is := unstamp(m.Context)
	if !is {
		return
	}
	switch raftpb.MessageType(m.Kind) {
	case raftpb.MsgHeartbeat:
		if s.trip > 0 { // it knows better than what was measured here while votes were asked for
			g.pace.said, g.pace.trip = s.trip, 0
			clear(g.pace.of)
		}
	case raftpb.MsgPreVote:
		g.pace.echoes[m.From] = slices.Clone(m.Context)
	case raftpb.MsgHeartbeatResp, raftpb.MsgPreVoteResp:
		if s.life != uint16(g.config.Random) {
			return // that clock has ended
		}
		took := max(1, Time(uint32(now/time.Millisecond)-s.at)) * time.Millisecond
		all := append(g.pace.of[m.From], took)
		g.pace.of[m.From] = all[max(0, len(all)-samples):]
		g.recount()
	}
}
