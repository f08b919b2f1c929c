package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// BenchmarkCopy reports the longest step of a copy of a million names, and of a change during it.
func BenchmarkCopy(b *testing.B) {
	r, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	const sessions, each = 20, 50_000
	var out Effects
	r.Apply(&Entry{Begin: true}, &out)
	for n := range uint64(sessions) {
		o := open(n + 1)
		ops := []Op{o}
		for i := range uint64(each) {
			a := acquire(n+1, i+1, fmt.Sprintf("customers/%02d/orders/%07d", n, i))
			a.ID = OpID{1, n*each + i + 1}
			ops = append(ops, a)
		}
		out.Reset()
		r.Apply(&Entry{Ops: ops}, &out)
	}
	if r.Table().Holds() != sessions*each {
		b.Fatal(r.Table().Holds())
	}
	for b.Loop() {
		begun := time.Now()
		c := r.Copy()
		begins, longest, parts, change := time.Since(begun), time.Duration(0), 0, time.Duration(0)
		for more := true; more; parts++ {
			at := time.Now()
			_, more = c.Next()
			longest = max(longest, time.Since(at))
			at = time.Now()
			out.Reset()
			r.Apply(&Entry{Ops: []Op{{Kind: Extend, Session: lock.SessionID{Member: 1, Number: 20}, Name: fmt.Sprintf("customers/19/orders/%07d", parts), Attributes: holdfast.Attributes{Hold: time.Hour}}}}, &out)
			change = max(change, time.Since(at))
		}
		b.ReportMetric(float64(begins.Microseconds())/1000, "ms-to-begin")
		b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest-part")
		b.ReportMetric(float64(change.Microseconds())/1000, "ms-longest-change")
		b.ReportMetric(float64(parts), "parts")
	}
}

// BenchmarkEntry measures an entry of the usual operations, in both directions.
func BenchmarkEntry(b *testing.B) {
	e := Entry{At: time.Hour}
	for n := range uint64(16) {
		session, name := lock.SessionID{Member: 1<<63 + 9, Number: 1000 + n}, fmt.Sprintf("customers/%02d", n)
		e.Ops = append(e.Ops,
			Op{ID: OpID{1<<63 + 9, 7000 + 2*n}, Kind: Acquire, Session: session, Request: n + 5, Name: name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}, Owner: "worker"}, Client: "orders", Wait: lock.Never, Belief: time.Second, By: lock.Attachment{Client: 1<<62 + n, Generation: 1}},
			Op{ID: OpID{1<<63 + 9, 7001 + 2*n}, Kind: Release, Session: session, Request: n + 5, Name: name, Token: 1<<40 | 77})
	}
	buffer := e.Append(nil)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buffer = e.Append(buffer[:0])
		}
	})
	b.Run("append-anew", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = e.Append(nil)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		var read Entry
		for b.Loop() {
			if err := read.Decode(buffer); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSnapshot measures a snapshot of a replica of 10,000 names, and its restore.
func BenchmarkSnapshot(b *testing.B) {
	r, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	var out Effects
	r.Apply(&Entry{Begin: true, Ops: []Op{open(1)}}, &out)
	for i := range uint64(10_000) {
		out.Reset()
		a := acquire(1, i+1, fmt.Sprintf("customers/orders/%07d", i))
		a.ID = OpID{1, i + 2}
		r.Apply(&Entry{Ops: []Op{a}}, &out)
	}
	var parts [][]byte
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parts = nil
			if err := r.Snapshot(func(part []byte) error { parts = append(parts, part); return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := restored(Config{}, parts); err != nil {
				b.Fatal(err)
			}
		}
	})
}
