package lock

// order is the sorted set of names, for listings. It is a list of sorted blocks of live names: a name costs four bytes,
// and a listing costs the names it visits.
//
// A name gets its place late: maxFresh names, the newest, are kept unsorted. A name that is quickly taken and released
// never gets a place, so most locks cost nothing here. A listing first sorts the fresh ones in.
type order struct {
	blocks [][]int32 // none is empty
	ranks  []rank    // by live name
	fresh  []int32   // a ring once it is full
	oldest int       // its start
}

// rank is a live name's state in the order.
type rank uint8

const (
	unranked rank = iota
	freshly       // it is among the fresh ones
	sorted        // it is in a block
)

const (
	maxFresh  = 512
	blockSize = 512
)

// enlist adds the name of live name e.
func (t *Table) enlist(e int32) {
	o := &t.order
	for len(o.ranks) <= int(e) {
		o.ranks = append(o.ranks, unranked)
	}
	if o.ranks[e] != unranked || t.names.at(e).name == SpaceLock {
		return
	}
	o.ranks[e] = freshly
	if len(o.fresh) < maxFresh {
		o.fresh = append(o.fresh, e)
		return
	}
	before := o.fresh[o.oldest]
	o.fresh[o.oldest] = e
	o.oldest = (o.oldest + 1) % maxFresh
	t.sortIn(before)
}

// sortIn gives a fresh live name its place, if its name is still live.
func (t *Table) sortIn(e int32) {
	o := &t.order
	o.ranks[e] = unranked
	if !t.live(e) {
		return
	}
	o.ranks[e] = sorted
	name := t.names.at(e).name
	b := t.blockOf(name)
	if b < 0 {
		b = 0
		if len(o.blocks) == 0 {
			o.blocks = append(o.blocks, make([]int32, 0, blockSize))
		}
	}
	at := t.within(o.blocks[b], name)
	if len(o.blocks[b]) == blockSize {
		b, at = o.split(b, at)
	}
	block := append(o.blocks[b], 0)
	copy(block[at+1:], block[at:])
	block[at] = e
	o.blocks[b] = block
}

// split makes room in a full block for a live name at a position, and returns the position's new place. If names arrive
// in order the blocks stay full.
func (o *order) split(b, at int) (int, int) {
	cut := blockSize / 2
	if at == blockSize && b == len(o.blocks)-1 {
		cut = blockSize
	}
	second := append(make([]int32, 0, blockSize), o.blocks[b][cut:]...)
	o.blocks[b] = o.blocks[b][:cut]
	o.blocks = append(o.blocks, nil)
	copy(o.blocks[b+2:], o.blocks[b+1:])
	o.blocks[b+1] = second
	if at >= cut {
		return b + 1, at - cut
	}
	return b, at
}

// unlist removes live name e, which is about to lose its name, from the order. A fresh one stays among those: when its
// turn comes, the name it has then counts.
func (t *Table) unlist(e int32) {
	o := &t.order
	if o.ranks[e] != sorted {
		return
	}
	o.ranks[e] = unranked
	name := t.names.at(e).name
	b := t.blockOf(name)
	block := o.blocks[b]
	at := t.within(block, name)
	if block[at] != e {
		panic("lock: a name is not in its place")
	}
	o.blocks[b] = append(block[:at], block[at+1:]...)
	o.join(b)
}

// join prevents block b from being empty, or small next to another small one.
func (o *order) join(b int) {
	if len(o.blocks[b]) > blockSize/4 {
		return
	}
	if b > 0 {
		b--
	}
	switch {
	case b+1 < len(o.blocks) && len(o.blocks[b])+len(o.blocks[b+1]) <= blockSize/2:
		o.blocks[b] = append(o.blocks[b], o.blocks[b+1]...)
		o.drop(b + 1)
	case b+1 < len(o.blocks) && len(o.blocks[b+1]) == 0:
		o.drop(b + 1)
	}
	if len(o.blocks[b]) == 0 {
		o.drop(b)
	}
}

func (o *order) drop(b int) {
	last := len(o.blocks) - 1
	copy(o.blocks[b:], o.blocks[b+1:])
	o.blocks[last] = nil
	o.blocks = o.blocks[:last]
}

// blockOf returns the last block that begins at a name or before it, or -1.
func (t *Table) blockOf(name string) int {
	low, high := 0, len(t.order.blocks)
	for low < high {
		middle := int(uint(low+high) / 2)
		if t.names.at(t.order.blocks[middle][0]).name <= name {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low - 1
}

// within returns the position in a block of the first name not before name.
func (t *Table) within(block []int32, name string) int {
	low, high := 0, len(block)
	for low < high {
		middle := int(uint(low+high) / 2)
		if t.names.at(block[middle]).name < name {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// seek sorts in all names, and returns the place of the first name not before name.
func (t *Table) seek(name string) (block, at int) {
	o := &t.order
	for _, e := range o.fresh {
		t.sortIn(e)
	}
	o.fresh, o.oldest = o.fresh[:0], 0
	if block = t.blockOf(name); block < 0 {
		return 0, 0
	}
	return block, t.within(o.blocks[block], name)
}
