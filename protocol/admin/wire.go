package admin

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

func (q *Query) Code(c *wire.Coder) {
	wire.Number(c, &q.Number)
	wire.Number(c, &q.Low)
	wire.Enum(c, &q.Kind, LastKind)
	wire.Text(c, &q.Name)
	wire.Number(c, &q.Token)
	wire.Text(c, &q.Reason)
	wire.Text(c, &q.Prefix)
	c.Int(&q.Limit)
	c.Int(&q.Skip)
}

func (a *Answer) Code(c *wire.Coder) {
	wire.Number(c, &a.Number)
	c.Int(&a.Skip)
	wire.List(c, &a.Locks)
	wire.Text(c, &a.Next)
	c.Int(&a.More)
	wire.List(c, &a.Grants)
	lock.CodeError(c, &a.Err)
	a.Condition.Code(c)
}
