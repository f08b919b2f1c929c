package lock

// maxIdle is the maximum number of idle records: a name that is repeatedly taken and released keeps its record, and
// does not change the map of names.
const maxIdle = 1024

// idleMark marks an idle record, in the field waiting.
const idleMark = -1

// recentNames are the idle records, in the order in which they became idle.
type recentNames struct {
	oldest, newest int32
	count          int
}

func (e *record) idle() bool { return e.waiting == idleMark }

// liveOf returns the record of a live name, or 0.
func (t *Table) liveOf(name string) int32 {
	e, live := t.look(name)
	if !live {
		return 0
	}
	return e
}

// look returns the record of a name, or 0, and whether the name is live.
func (t *Table) look(name string) (e int32, live bool) {
	e = t.byName[name]
	return e, e != 0 && !t.names.at(e).idle()
}

// live reports whether record e is that of a live name. An unused record has no name, and neither has SpaceLock.
func (t *Table) live(e int32) bool {
	x := t.names.at(e)
	return !x.idle() && (x.name != SpaceLock || t.byName[SpaceLock] == e)
}

// enter makes the record of a name that is not live: idle is the one that look has found. The record of SpaceLock
// closes the gate.
func (t *Table) enter(name string, idle int32) int32 {
	e := idle
	if e != 0 {
		t.revive(e)
	} else {
		var x *record
		e, x = t.names.take()
		x.name = name
		t.byName[name] = e
	}
	if name == SpaceLock {
		t.closeGate().spaceLock = e
	}
	t.enlist(e)
	return e
}

// makeIdle ends a name that no request holds or waits for. Its record is kept until enough others became idle after it.
func (t *Table) makeIdle(e int32) {
	x := t.names.at(e)
	if x.crowd != 0 {
		t.crowds.give(x.crowd)
		x.crowd = 0
	}
	v := &t.recentNames
	x.waiting, x.holders, x.queue = idleMark, 0, v.newest
	if v.newest != 0 {
		t.names.at(v.newest).holders = e
	} else {
		v.oldest = e
	}
	v.newest = e
	if v.count++; v.count > maxIdle {
		t.evictIdle()
	}
}

// revive removes record e from the idle ones.
func (t *Table) revive(e int32) {
	v, x := &t.recentNames, t.names.at(e)
	if x.holders != 0 {
		t.names.at(x.holders).queue = x.queue
	} else {
		v.newest = x.queue
	}
	if x.queue != 0 {
		t.names.at(x.queue).holders = x.holders
	} else {
		v.oldest = x.holders
	}
	v.count--
	x.holders, x.queue, x.waiting = 0, 0, 0
}

// evictIdle drops the record that became idle first. There must be one.
func (t *Table) evictIdle() {
	e := t.recentNames.oldest
	t.revive(e)
	t.unlist(e)
	delete(t.byName, t.names.at(e).name)
	t.names.give(e)
}
