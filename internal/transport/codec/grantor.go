package codec

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
)

// What members that name grantors say to each other, beside what holders and authorities
// do (authority.go).

// kindOfGrantor is the part of kindOf for these messages.
func kindOfGrantor(m protocol.Message) kind {
	switch m.(type) {
	case grantor.Question:
		return kindQuestion
	case grantor.Info:
		return kindInfo
	case grantor.Depose:
		return kindDepose
	case grantor.Deposed:
		return kindDeposed
	case grantor.Inquiry:
		return kindInquiry
	case grantor.InquiryAnswer:
		return kindInquiryAnswer
	case grantor.TransferRequest:
		return kindTransferRequest
	case grantor.TransferTable:
		return kindTransferTable
	case grantor.Invite:
		return kindInvite
	case grantor.Invited:
		return kindInvited
	case grantor.NotGrantor:
		return kindNotGrantor
	}
	return kindOfPermission(m)
}

func (c *coder) writeGrantor(m protocol.Message) {
	switch m := m.(type) {
	case grantor.Question:
		c.question(&m)
	case grantor.Info:
		c.info(&m)
	case grantor.Depose:
		c.depose(&m)
	case grantor.Deposed:
		c.deposed(&m)
	case grantor.Inquiry:
		c.inquiry(&m)
	case grantor.InquiryAnswer:
		c.inquiryAnswer(&m)
	case grantor.TransferRequest:
		c.transferRequest(&m)
	case grantor.TransferTable:
		c.transferTable(&m)
	case grantor.Invite:
		c.invite(&m)
	case grantor.Invited:
		c.invited(&m)
	case grantor.NotGrantor:
		c.notGrantor(&m)
	default:
		c.writePermission(m)
	}
}

func (c *coder) readGrantor(k kind) protocol.Message {
	switch k {
	case kindQuestion:
		var m grantor.Question
		c.question(&m)
		return m
	case kindInfo:
		var m grantor.Info
		c.info(&m)
		return m
	case kindDepose:
		var m grantor.Depose
		c.depose(&m)
		return m
	case kindDeposed:
		var m grantor.Deposed
		c.deposed(&m)
		return m
	case kindInquiry:
		var m grantor.Inquiry
		c.inquiry(&m)
		return m
	case kindInquiryAnswer:
		var m grantor.InquiryAnswer
		c.inquiryAnswer(&m)
		return m
	case kindTransferRequest:
		var m grantor.TransferRequest
		c.transferRequest(&m)
		return m
	case kindTransferTable:
		var m grantor.TransferTable
		c.transferTable(&m)
		return m
	case kindInvite:
		var m grantor.Invite
		c.invite(&m)
		return m
	case kindInvited:
		var m grantor.Invited
		c.invited(&m)
		return m
	case kindNotGrantor:
		var m grantor.NotGrantor
		c.notGrantor(&m)
		return m
	}
	return c.readPermission(k)
}

func (c *coder) place(v *grantor.Place) {
	fixed(c, &v.ID)
	c.tenure(&v.Tenure)
	number(c, &v.Since)
}

func (c *coder) question(v *grantor.Question) {
	c.tenure(&v.Tenure)
	number(c, &v.Number)
	enum(c, &v.Kind, grantor.Count)
	c.version(&v.Version)
	number(c, &v.Reign)
	number(c, &v.Count)
}

func (c *coder) info(v *grantor.Info) {
	c.tenure(&v.Tenure)
	number(c, &v.Number)
	c.place(&v.Grantor)
	c.version(&v.Version)
	c.truth(&v.Left)
	enum(c, &v.Beginning, grantor.Inheriting)
	c.place(&v.Previous)
	number(c, &v.Reign)
	number(c, &v.Count)
}

func (c *coder) depose(v *grantor.Depose) {
	c.tenure(&v.Tenure)
	c.place(&v.Grantor)
	c.version(&v.Version)
}

func (c *coder) deposed(v *grantor.Deposed) {
	c.tenure(&v.Tenure)
	c.version(&v.Version)
}

func (c *coder) inquiry(v *grantor.Inquiry) { c.epoch(&v.Epoch) }

func (c *coder) inquiryAnswer(v *grantor.InquiryAnswer) {
	c.tenure(&v.Tenure)
	number(c, &v.Since)
	c.epoch(&v.Epoch)
	c.truth(&v.Grants)
	c.version(&v.Version)
	number(c, &v.Reign)
}

func (c *coder) transferRequest(v *grantor.TransferRequest) {
	c.version(&v.Version)
	number(c, &v.Chunk)
}

func (c *coder) transferTable(v *grantor.TransferTable) {
	c.version(&v.Version)
	number(c, &v.Chunk)
	c.truth(&v.None)
	c.truth(&v.Last)
	c.tableHandover(&v.Handover)
}

// tableHandover has words without their stamps: the heir of the words puts its own before them.
func (c *coder) tableHandover(v *authority.Handover) {
	number(c, &v.Reign)
	number(c, &v.Count)
	number(c, &v.Epoch)
	number(c, &v.View)
	for i := range list(c, &v.Entries, leastLockEntry) {
		c.lockEntry(&v.Entries[i])
	}
	for i := range list(c, &v.Unacked, leastDecided) {
		c.decision(&v.Unacked[i])
	}
}

func (c *coder) invite(v *grantor.Invite) {
	c.tenure(&v.Tenure)
	number(c, &v.Number)
}

func (c *coder) invited(v *grantor.Invited) {
	c.tenure(&v.Tenure)
	number(c, &v.Number)
	c.truth(&v.Taken)
	c.truth(&v.Closed)
}

func (c *coder) notGrantor(v *grantor.NotGrantor) {
	c.tenure(&v.Tenure)
	c.version(&v.Version)
	c.place(&v.Grantor)
	c.version(&v.Known)
	number(c, &v.Query)
	number(c, &v.By)
}
