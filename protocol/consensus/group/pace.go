package group

import (
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// The limit on a leader's silence must follow the delay of messages. A limit that suits machines in one room would
// cause endless elections if a round trip takes as long as an election timeout: votes arrive when the next ones are
// requested, and a leader steps down before its followers could have answered.
//
// Each member therefore measures round trips. A leader's beats, and pre-vote requests, carry the time of their sender's
// clock, which the answer returns; beats also carry the leader's measurement. The election timeout is paceOf such round
// trips, and at least E. A leader's beats are that much less frequent.
//
// In the library beats carry the number of a read until that is confirmed. If members report sessions all the time,
// some read is always in progress, so those beats also have a time, after the number.

const (
	// paceOf is the number of round trips in an election timeout: a beat that a member has others confirm takes three.
	paceOf = 4
	// MostPace is the maximum election timeout, in units of E.
	MostPace = 10
	// samples is the number of round trips of which the shortest counts: one late message does not mean a slow link.
	samples = 4
)

// pace is the knowledge about round trips.
type pace struct {
	of     map[uint64][]Time // the latest, by member
	trip   Time              // to a majority, by these
	said   Time              // what the leader has measured; 0 for nothing
	echoes map[uint64][]byte // the times that others' questions for votes had, which go with the answers
}

// stamp is a time and a round trip, in milliseconds, in a message's context. It is alone or after the library's number
// of a read, which may have any bytes: the length distinguishes the two. Its life identifies one life of the member,
// which has a separate clock.
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

// stampFormat is the first byte of a stamp, and stampBytes its length.
const (
	stampFormat = 1
	stampBytes  = 9
)

// readBytes is how long the library's number of a read is.
const readBytes = 8

// unstamp removes the stamp from a context, if it has one. The rest is the number of a read, or empty.
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

// Trip returns the round trip to as many voters as form a majority with this member, or the leader's, as reported by
// it; 0 if unknown.
func (g *Group) Trip() Time {
	if g.Leading() {
		return g.pace.trip
	}
	return max(g.pace.trip, g.pace.said)
}

// recount computes the round trip to a majority.
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

// Election returns the election timeout: E, or more if round trips are long.
func (g *Group) Election() Time {
	return min(max(g.config.Election, paceOf*g.Trip()), MostPace*g.config.Election)
}

// heartbeat is how often a leader beats: the library steps down after so many beats as an election timeout has.
func (g *Group) heartbeat() Time {
	return Time(float64(g.config.Heartbeat) * (float64(g.Election()) / float64(g.config.Election)))
}

// mark adds a stamp to a message whose answer returns it; or returns another member's. Of these messages the library
// sets a context only for beats.
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

// measure processes a message's stamp.
func (g *Group) measure(now Time, m *Message) {
	_, s, is := unstamp(m.Context)
	if !is {
		return
	}
	switch raftpb.MessageType(m.Kind) {
	case raftpb.MsgHeartbeat:
		if s.trip > 0 { // more accurate than the measurement here during the vote
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
