package limit

import "fmt"

// entry is a held name.
type entry struct {
	name  string
	conn  *connection // of the holder
	id    uint32      // of the holder's request
	queue *queue      // nil without waiters
}

// waiter is a waiting request.
type waiter struct {
	conn *connection
	id   uint32
}

// queue has the waiting requests for a name, first come first served.
type queue struct {
	waiters []waiter
	head    int
}

func (q *queue) push(w waiter) { q.waiters = append(q.waiters, w) }

func (q *queue) pop() waiter {
	w := q.waiters[q.head]
	q.head++
	if q.head > 32 && 2*q.head > len(q.waiters) {
		q.waiters = append(q.waiters[:0], q.waiters[q.head:]...)
		q.head = 0
	}
	return w
}

func (q *queue) empty() bool { return q == nil || q.head == len(q.waiters) }

func (q *queue) remove(w waiter) {
	for i := q.head; i < len(q.waiters); i++ {
		if q.waiters[i] == w {
			q.waiters = append(q.waiters[:i], q.waiters[i+1:]...)
			return
		}
	}
}

// table has all held names. Its callers exclude each other.
type table struct {
	entries map[string]*entry
	touched []*connection // other connections with answers to write
}

// execute executes a connection's request.
func (t *table) execute(c *connection, r request) error {
	if r.op == release {
		return t.release(c, r.id)
	}
	for int(r.id) >= len(c.slots) {
		c.slots = append(c.slots, nil)
	}
	if c.slots[r.id] != nil {
		return fmt.Errorf("%w: id %d is taken", errProtocol, r.id)
	}
	e := t.entries[string(r.name)]
	if e == nil {
		e = &entry{name: string(r.name), conn: c, id: r.id}
		t.entries[e.name] = e
		c.slots[r.id] = e
		return c.answer(granted, r.id)
	}
	if e.queue == nil {
		e.queue = &queue{}
	}
	e.queue.push(waiter{c, r.id})
	c.slots[r.id] = e
	if r.op == announce {
		return c.answer(queued, r.id)
	}
	return nil
}

// release ends a hold or a wait, and grants the next.
func (t *table) release(c *connection, id uint32) error {
	if int(id) >= len(c.slots) || c.slots[id] == nil {
		return fmt.Errorf("%w: id %d is unknown", errProtocol, id)
	}
	t.leave(c, id)
	return c.answer(released, id)
}

// leave removes a request from the table.
func (t *table) leave(c *connection, id uint32) {
	e := c.slots[id]
	c.slots[id] = nil
	if e.conn != c || e.id != id {
		e.queue.remove(waiter{c, id})
		return
	}
	for !e.queue.empty() {
		next := e.queue.pop()
		e.conn, e.id = next.conn, next.id
		if next.conn.answer(granted, next.id) != nil {
			next.conn.slots[next.id] = nil // it is being closed
			continue
		}
		if next.conn != c {
			t.touched = append(t.touched, next.conn)
		}
		return
	}
	delete(t.entries, e.name)
}

// drop removes everything of a connection from the table.
func (t *table) drop(c *connection) {
	for id, e := range c.slots {
		if e != nil {
			t.leave(c, uint32(id))
		}
	}
	c.slots = nil
}
