package consensus

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// copyOf returns a copy of a disk's present contents.
func (d *disk) copyOf() disk {
	c := disk{logs: map[uint64]*log{}}
	for number, l := range d.logs {
		is := *l
		is.Records, is.Chunks = slices.Clone(l.Records), slices.Clone(l.Chunks)
		c.logs[number] = &is
	}
	return c
}

// end is the index of the last entry in a log of a disk.
func (d *disk) end() uint64 {
	l := d.of(firstLog)
	return l.First + uint64(len(l.Records)) - 1
}

// TestOlderFolder checks that a member with an older copy of its folder, which lacks acknowledged entries, has no role
// as long as the leader knows better: it grants and shows nothing, and reports why; holds stay. Another leader sends it
// the missing entries.
func TestOlderFolder(t *testing.T) {
	o := layOnce(t)
	o.call(o.b, 1, &protocol.Enroll{Session: client7, TTL: time.Hour})
	older, names := o.c.disk.copyOf(), []string{"d", "e", "f", "g"}
	var held []holdfast.Token
	for i, name := range names {
		held = append(held, o.take(o.b, client7, uint64(i+1), name))
	}
	if o.c.disk.end() < older.end()+uint64(len(names)) {
		t.Fatalf("the log of c ends at %d, and in the copy at %d", o.c.disk.end(), older.end())
	}
	o.crash(o.c, 0)
	o.c.disk = older
	o.begin(o.c)
	o.show(2, o.members...)
	o.pass(3 * time.Second)
	is := o.c.machine.condition()
	for _, text := range []string{"its folder is an older copy of the one that it had", "Remove this member from the space"} {
		if is.State != protocol.Unavailable || !strings.Contains(is.Why, text) {
			t.Errorf("c is %v: %q; want that %q", is.State, is.Why, text)
		}
	}
	if l := o.shownBy(o.c, "d"); l != nil {
		t.Errorf("c shows %+v", l)
	}
	o.call(o.c, 1, &protocol.Enroll{Session: client8, TTL: time.Hour})
	if d := o.only(o.c, &lock.Request{Session: client8, ID: 1, Name: "d", Arrived: o.now - o.c.start, WaitEnd: o.now - o.c.start}, lock.Refused); !errors.Is(d.Err, holdfast.ErrUnavailable) {
		t.Errorf("c refuses with %v", d.Err)
	}
	o.lead(o.a)
	o.pass(2 * time.Second)
	for i, name := range names {
		for _, m := range o.members {
			if l := o.shownBy(m, name); l == nil || len(l.Holders) != 1 || l.Holders[0].Token != held[i] {
				t.Errorf("%s shows %+v; want %q to be held under %v", m.name(), l, name, held[i])
			}
		}
	}
	if is := o.c.machine.condition(); is.State != protocol.Ready {
		t.Errorf("c, which another leader has given what it lacked, is %v: %s", is.State, is.Why)
	}
}

// shownBy asks a member for a name, and returns its answer in time; nil if there is none.
func (o *once) shownBy(m *member, name string) *lock.Lock {
	o.Helper()
	from := len(*o.replies)
	o.call(m, 7, &protocol.Show{Name: name})
	o.pass(2 * time.Second)
	for _, reply := range (*o.replies)[from:] {
		if l, is := reply.Result.(*lock.Lock); is {
			return l
		}
	}
	return nil
}

// TestReadyInAView checks that a restarted member, which hears of a leader before it is in a view, is not ready before
// that view, since it only takes clients in one.
func TestReadyInAView(t *testing.T) {
	o := layOnce(t)
	o.crash(o.c, 0)
	o.begin(o.c)
	o.pass(2 * time.Second)
	if o.c.machine.parts[0].leader != uint64(o.b.id) {
		t.Fatalf("c hears of leader %d", o.c.machine.parts[0].leader)
	}
	if is := o.c.machine.condition(); is.State != protocol.Unavailable || !strings.Contains(is.Why, "in no view yet") {
		t.Errorf("c, which is in no view, is %v: %q", is.State, is.Why)
	}
	o.show(2, o.members...)
	if is := o.c.machine.condition(); is.State != protocol.Ready {
		t.Errorf("c, which is in a view, is %v: %q", is.State, is.Why)
	}
}
