package codec

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// What members say to each other about leaders that number tickets. What they say under a term
// goes in messages (envelope.go).

// kindOfBakery is the part of kindOf for these messages.
func kindOfBakery(m protocol.Message) kind {
	switch m.(type) {
	case bakery.Started:
		return kindStarted
	case bakery.Elect:
		return kindElect
	case bakery.Elected:
		return kindElected
	case bakery.Leaders:
		return kindLeaders
	case bakery.Refused:
		return kindRefused
	case bakery.Exhausted:
		return kindExhausted
	case bakery.Envelope:
		return kindEnvelope
	}
	return kindOfLocal(m)
}

func (c *coder) writeBakery(m protocol.Message) {
	switch m := m.(type) {
	case bakery.Started:
		c.started(&m)
	case bakery.Elect:
		c.elect(&m)
	case bakery.Elected:
		c.elected(&m)
	case bakery.Leaders:
		c.leaders(&m)
	case bakery.Refused:
		c.refused(&m)
	case bakery.Exhausted:
		c.exhausted(&m)
	case bakery.Envelope:
		c.envelope(&m)
	default:
		c.writeLocal(m)
	}
}

func (c *coder) readBakery(k kind) protocol.Message {
	switch k {
	case kindStarted:
		var m bakery.Started
		c.started(&m)
		return m
	case kindElect:
		var m bakery.Elect
		c.elect(&m)
		return m
	case kindElected:
		var m bakery.Elected
		c.elected(&m)
		return m
	case kindLeaders:
		var m bakery.Leaders
		c.leaders(&m)
		return m
	case kindRefused:
		var m bakery.Refused
		c.refused(&m)
		return m
	case kindExhausted:
		var m bakery.Exhausted
		c.exhausted(&m)
		return m
	case kindEnvelope:
		var m bakery.Envelope
		c.envelope(&m)
		return m
	}
	return c.readLocal(k)
}

// The fewest bytes that an element of a list can have.
const (
	leastPlace     = 11
	leastCandidate = 14
)

func (c *coder) started(v *bakery.Started) {
	c.tag(&v.Tag)
	c.candidate(&v.Candidate)
	c.outcome(&v.Known)
	c.term(&v.Promised)
	c.truth(&v.Serves)
	c.truth(&v.Used)
}

func (c *coder) elect(v *bakery.Elect) {
	c.tag(&v.Tag)
	c.outcome(&v.Election)
}

func (c *coder) elected(v *bakery.Elected) {
	c.tag(&v.Tag)
	c.term(&v.Term)
}

func (c *coder) leaders(v *bakery.Leaders) {
	c.tag(&v.Tag)
	c.outcome(&v.Election)
	c.candidates(&v.Candidates)
}

func (c *coder) refused(v *bakery.Refused) {
	c.tag(&v.Tag)
	enum(c, &v.Why, bakery.RefusedEpoch)
	c.ids(&v.Missing)
	c.candidates(&v.Candidates)
}

func (c *coder) exhausted(v *bakery.Exhausted) {
	c.tag(&v.Tag)
	number(c, &v.Epoch)
}

func (c *coder) term(v *bakery.Term) {
	number(c, &v.Epoch)
	number(c, &v.View)
}

// outcome is that of an election.
func (c *coder) outcome(v *bakery.Election) {
	c.term(&v.Term)
	c.stays(&v.Leaders)
	c.term(&v.After)
	c.stays(&v.AfterLeaders)
	number(c, &v.Count)
}

func (c *coder) stays(v *[]local.Place) {
	for i := range list(c, v, leastPlace) {
		c.localPlace(&(*v)[i])
	}
}

// localPlace is a member's place in the views.
func (c *coder) localPlace(v *local.Place) {
	fixed(c, &v.ID)
	c.tenure(&v.Tenure)
	number(c, &v.Since)
}

func (c *coder) candidates(v *[]bakery.Candidate) {
	for i := range list(c, v, leastCandidate) {
		c.candidate(&(*v)[i])
	}
}

func (c *coder) candidate(v *bakery.Candidate) {
	fixed(c, &v.ID)
	c.count(&v.Priority)
	number(c, &v.Random)
	text(c, &v.Address)
	c.count(&v.PID)
	text(c, &v.Name)
	c.truth(&v.Guest)
}
