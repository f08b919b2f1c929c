package protocoltest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Reader describes the contents of a store for people: keys and columns are bytes.
type Reader interface {
	Key(key string) string
	Column(column string) string
	Entry(e storage.Entry) string
	// Foreign returns a lock write of a process outside the conversation, at a time in microseconds.
	Foreign(name, who string, at int64) (key string, e storage.Entry)
	// Settings returns the place of the settings of all users of the store, and a write of them by a process outside
	// the conversation.
	Settings(text string) (key string, e storage.Entry)
}

// Epoch is the initial time of all wall clocks in a conversation, in microseconds: a token that is a time is 1:N then,
// N microseconds later.
const Epoch = 1 << 32

// theStore is its name in a conversation.
const theStore = "store"

// store is the key-column-value store of a conversation. It executes requests at once, and remembers deletions either
// forever or not at all, except as the lines about its links say.
type store struct {
	reader  Reader
	rows    map[string][]column
	watches []watch
	attends map[string]*member // by the name of its process
	awaits  []await
	wrong   map[string]trouble       // by link: a>store, store>a, and the same of one kind only
	held    []inquiry                // that are on their way, there or back
	ahead   map[string]time.Duration // of whose wall clocks, by how much
	forgets bool                     // what was deleted
}

// column is a column, or the memory of a deleted one.
type column struct {
	storage.Entry
	stamp   int64
	deleted bool
}

type watch struct {
	by  *member
	key string
}

// await is a member's wait for the end of a process.
type await struct {
	by  *member
	rid string
}

// trouble is the fault of a link to the store, for a number of requests.
type trouble struct {
	kind string
	left int
}

// inquiry is a request that waits, or its answer.
type inquiry struct {
	by      *member
	request protocol.Message
	answer  protocol.Message // nil: it is still to be done
	mute    bool             // it was answered already
	link    string           // on which it waits
}

func newStore(reader Reader) *store {
	return &store{reader: reader, rows: map[string][]column{}, wrong: map[string]trouble{}, attends: map[string]*member{}, ahead: map[string]time.Duration{}}
}

// meets returns the trouble of a link for a request.
func (s *store) meets(link, kind string) string {
	for _, l := range []string{link + ":" + kind, link} {
		if t, is := s.wrong[l]; is && t.left > 0 {
			t.left--
			s.wrong[l] = t
			return t.kind
		}
	}
	return ""
}

// keep handles a member's message to its storage.
func (s *Stage) keep(m *member, request protocol.Message) {
	s.t.Helper()
	if s.store == nil {
		s.t.Fatalf("%s asks a store (%v), and this conversation has none", m.name, request)
	}
	kind := kindOf(request)
	if clock, is := request.(storage.Clock); is && clock.Own {
		micros := Epoch + (s.now + s.store.ahead[m.name]).Microseconds()
		s.transit = append(s.transit, flight{protocol.Storage, m.id, storage.Clocked{ID: clock.ID, Time: micros}})
		return
	}
	s.sent[kind]++
	there, back := m.name+">"+theStore, theStore+">"+m.name
	fault := s.store.meets(there, kind)
	fmt.Fprintf(&s.said, "  %s→%s %s%s\n", m.name, theStore, s.store.describe(request), marks[fault])
	i := inquiry{by: m, request: request, link: there}
	switch fault {
	case "slow":
		s.store.held = append(s.store.held, i)
	case "late":
		i.mute = true
		s.store.held = append(s.store.held, i)
		s.respond(m, failed(request, storage.ErrUnknown))
	case "cut":
		s.respond(m, failed(request, storage.ErrUnknown))
	case "refuse":
		s.respond(m, failed(request, storage.ErrRefused))
	case "deny":
		s.respond(m, failed(request, storage.ErrInvalid))
	default:
		i.answer = s.done(m, request)
		switch s.store.meets(back, kind) {
		case "slow":
			i.link = back
			s.store.held = append(s.store.held, i)
		case "cut":
			s.respond(m, failed(request, storage.ErrUnknown))
		default:
			s.respond(m, i.answer)
		}
	}
}

// marks are printed with a request in trouble.
var marks = map[string]string{"slow": " …", "late": " …", "cut": " ✗", "refuse": " ✗", "deny": " ✗"}

// release delivers the waiting messages of a link to the store.
func (s *Stage) release(link string) {
	var kept []inquiry
	held := s.store.held
	s.store.held = nil
	for _, i := range held {
		switch {
		case i.link != link && i.link+":"+kindOf(i.request) != link:
			kept = append(kept, i)
		case i.answer == nil && i.mute:
			fmt.Fprintf(&s.said, "  the store does late: %s\n", s.store.describe(i.request))
			s.done(i.by, i.request)
		case i.answer == nil:
			s.respond(i.by, s.done(i.by, i.request))
		default:
			s.respond(i.by, i.answer)
		}
	}
	s.store.held = append(kept, s.store.held...)
}

// respond sends an answer.
func (s *Stage) respond(m *member, answer protocol.Message) {
	if answer != nil {
		s.transit = append(s.transit, flight{protocol.Storage, m.id, answer})
	}
}

// failed is the answer to a request that has failed.
func failed(request protocol.Message, err error) protocol.Message {
	switch r := request.(type) {
	case storage.Mutate:
		return storage.Mutated{ID: r.ID, Err: err}
	case storage.Slice:
		return storage.Sliced{ID: r.ID, Err: err}
	case storage.Swap:
		return storage.Swapped{ID: r.ID, Err: err}
	case storage.Clock:
		return storage.Clocked{ID: r.ID, Err: err}
	}
	return nil
}

// done executes a request, and returns the answer.
func (s *Stage) done(m *member, request protocol.Message) protocol.Message {
	s.t.Helper()
	if checked, is := request.(interface{ Check() error }); is {
		if err := checked.Check(); err != nil {
			s.t.Fatalf("%s asks what no store does: %v", m.name, err)
		}
	}
	switch r := request.(type) {
	case storage.Mutate:
		s.store.mutate(&r)
		if len(r.Deletions) > 0 {
			s.notifyChanged(r.Key)
		}
		return storage.Mutated{ID: r.ID}
	case storage.Slice:
		return storage.Sliced{ID: r.ID, Entries: s.store.slice(&r)}
	case storage.Swap:
		done := s.store.swap(&r)
		if done.Done && r.Notify {
			s.notifyChanged(r.Key)
		}
		return done
	case storage.Clock:
		return storage.Clocked{ID: r.ID, Time: Epoch + s.now.Microseconds()}
	case storage.Watch:
		s.store.watches = append(s.store.watches, watch{m, r.Key})
		return storage.Changed(r)
	case storage.Unwatch:
		s.store.watches = slices.DeleteFunc(s.store.watches, func(w watch) bool { return w == watch{m, r.Key} })
		return nil
	case storage.Attend:
		s.store.attends[r.RID] = m
		return storage.Attended{RID: r.RID}
	case storage.Await:
		s.store.awaits = append(s.store.awaits, await{m, r.RID})
		lives := s.store.attends[r.RID]
		return storage.Awaited{RID: r.RID, Ended: lives != nil && lives.crashed}
	case storage.Unawait:
		s.store.awaits = slices.DeleteFunc(s.store.awaits, func(a await) bool { return a == await{m, r.RID} })
		return nil
	}
	s.t.Fatalf("%s sends %T to the store", m.name, request)
	return nil
}

func (s *Stage) notifyChanged(key string) {
	for _, w := range s.store.watches {
		if w.key == key && s.store.meets(theStore+">"+w.by.name, "Changed") == "" {
			s.respond(w.by, storage.Changed{Key: key})
		}
	}
}

// notifyEnded reports the end of a member's process.
func (s *Stage) notifyEnded(m *member) {
	for _, a := range s.store.awaits {
		if s.store.attends[a.rid] == m && s.store.meets(theStore+">"+a.by.name, "Awaited") == "" {
			s.respond(a.by, storage.Awaited{RID: a.rid, Ended: true})
		}
	}
}

// settings makes a process outside the conversation replace the settings.
func (s *Stage) settings(text string) {
	key, e := s.store.reader.Settings(text)
	if text == "" {
		delete(s.store.rows, key)
		return
	}
	s.store.mutate(&storage.Mutate{Key: key, Additions: []storage.Entry{e}, Timestamp: 1})
}

// within returns the index of a column, or its insertion point.
func within(row []column, name string) (int, bool) {
	return slices.BinarySearchFunc(row, name, func(c column, name string) int { return cmp.Compare(c.Column, name) })
}

// mutate writes as package storage says, and remembers deletions.
func (s *store) mutate(m *storage.Mutate) {
	write := func(c column) {
		row := s.rows[m.Key]
		i, found := within(row, c.Column)
		switch {
		case !found:
			row = slices.Insert(row, i, c)
		case c.stamp > row[i].stamp, c.stamp == row[i].stamp && (c.deleted || !row[i].deleted && c.Value > row[i].Value):
			row[i] = c
		}
		s.rows[m.Key] = row
	}
	for _, name := range m.Deletions {
		write(column{storage.Entry{Column: name}, m.Timestamp, true})
	}
	if s.forgets {
		s.rows[m.Key] = slices.DeleteFunc(s.rows[m.Key], func(c column) bool { return c.deleted })
	}
	for _, e := range m.Additions {
		write(column{e, m.Timestamp, false})
	}
}

func (s *store) slice(r *storage.Slice) (list []storage.Entry) {
	for _, c := range s.rows[r.Key] {
		if !c.deleted && c.Column >= r.Start && (r.End == "" || c.Column < r.End) && (r.Limit == 0 || len(list) < r.Limit) {
			list = append(list, c.Entry)
		}
	}
	return list
}

func (s *store) swap(r *storage.Swap) storage.Swapped {
	row := s.rows[r.Key]
	i, found := within(row, r.Column)
	switch {
	case !found && r.Absent:
		s.rows[r.Key] = slices.Insert(row, i, column{Entry: storage.Entry{Column: r.Column, Value: r.New}})
	case found && !r.Absent && row[i].Value == r.Old:
		row[i].Value = r.New
	case found:
		return storage.Swapped{ID: r.ID, Present: true, Value: row[i].Value}
	default:
		return storage.Swapped{ID: r.ID}
	}
	return storage.Swapped{ID: r.ID, Done: true}
}

// foreign makes a process outside the conversation write NAME WHO TIME, or delete it.
func (s *Stage) foreign(l *golden.Line) {
	l.Helper()
	name, who, deletes := l.Next(), l.Next(), l.Verb == "erase"
	at := Epoch + l.Time().Microseconds()
	key, e := s.store.reader.Foreign(name, who, at)
	m := storage.Mutate{Key: key, Additions: []storage.Entry{e}, Timestamp: at}
	if deletes {
		m.Additions, m.Deletions = nil, []string{e.Column}
	}
	s.store.mutate(&m)
	if deletes {
		s.notifyChanged(key)
	}
}

// describe formats a request as a line.
func (s *store) describe(request protocol.Message) string {
	switch r := request.(type) {
	case storage.Mutate:
		text := fmt.Sprintf("#%d write %s", r.ID, s.reader.Key(r.Key))
		for _, e := range r.Additions {
			text += " +" + s.reader.Entry(e)
		}
		for _, name := range r.Deletions {
			text += " −" + s.reader.Column(name)
		}
		if r.TTL > 0 {
			text += fmt.Sprintf(" ttl=%v", r.TTL)
		}
		return text
	case storage.Slice:
		text := fmt.Sprintf("#%d read %s", r.ID, s.reader.Key(r.Key))
		if r.Start != "" && !r.Serial {
			text += " from " + s.reader.Column(r.Start)
		}
		if r.End != "" && !r.Serial {
			text += " to " + s.reader.Column(r.End)
		}
		return text
	case storage.Swap:
		old := "nothing"
		if !r.Absent {
			old = s.reader.Entry(storage.Entry{Column: r.Column, Value: r.Old})
		}
		return fmt.Sprintf("#%d swap %s: %s ⇒ %s", r.ID, s.reader.Key(r.Key), old, s.reader.Entry(storage.Entry{Column: r.Column, Value: r.New}))
	case storage.Clock:
		return fmt.Sprintf("#%d what time is it?", r.ID)
	case storage.Watch:
		return "watch " + s.reader.Key(r.Key)
	case storage.Unwatch:
		return "unwatch " + s.reader.Key(r.Key)
	case storage.Attend:
		return "attend as " + r.RID
	case storage.Await:
		return "await the end of " + r.RID
	case storage.Unawait:
		return "unawait the end of " + r.RID
	}
	return fmt.Sprint(request)
}

// answered formats an answer as a line.
func (s *store) answered(answer any) string {
	switch a := answer.(type) {
	case storage.Mutated:
		return fmt.Sprintf("#%d %s", a.ID, orDone(a.Err))
	case storage.Sliced:
		if a.Err != nil {
			return fmt.Sprintf("#%d %v", a.ID, a.Err)
		}
		return fmt.Sprintf("#%d %s", a.ID, s.list(a.Entries))
	case storage.Swapped:
		switch {
		case a.Err != nil || a.Done:
			return fmt.Sprintf("#%d %s", a.ID, orDone(a.Err))
		case a.Present:
			return fmt.Sprintf("#%d no: %s", a.ID, s.reader.Entry(storage.Entry{Column: "cell", Value: a.Value}))
		}
		return fmt.Sprintf("#%d no: nothing", a.ID)
	case storage.Clocked:
		if a.Err != nil {
			return fmt.Sprintf("#%d %v", a.ID, a.Err)
		}
		return fmt.Sprintf("#%d it is %v", a.ID, time.Duration(a.Time-Epoch)*time.Microsecond)
	case storage.Changed:
		return "changed " + s.reader.Key(a.Key)
	case storage.Attended:
		return "attends " + orDone(a.Err)
	case storage.Awaited:
		if a.Ended {
			return a.RID + " has ended"
		}
		return a.RID + " lives, or does not attend"
	}
	return fmt.Sprint(answer)
}

func orDone(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

func (s *store) list(entries []storage.Entry) string {
	texts := []string{"nothing"}[:min(1, max(0, 1-len(entries)))]
	for _, e := range entries {
		texts = append(texts, s.reader.Entry(e))
	}
	return strings.Join(texts, ", ")
}

// printRows prints the contents of the store.
func (s *Stage) printRows() {
	keys := make([]string, 0, len(s.store.rows))
	for key := range s.store.rows {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprintf(&s.said, "row %s: %s\n", s.store.reader.Key(key), s.store.list(s.store.slice(&storage.Slice{Key: key})))
	}
}
