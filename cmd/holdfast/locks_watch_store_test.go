package main

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storelock"
)

// TestValuesBetweenScans checks the events that two scans of a store give when the value of a lock is another one: its
// holder has replaced it, or another process has the lock.
func TestValuesBetweenScans(t *testing.T) {
	now := time.Now()
	scan := func(rid string, token holdfast.Token, value string, revision uint64) map[string]*schema.Lock {
		if rid == "" {
			return map[string]*schema.Lock{}
		}
		state := claim.State{RID: rid, Token: token, Value: value, Revision: revision, Since: now}
		return map[string]*schema.Lock{"job": lockOf("default", &storelock.Shown{Name: "job", State: state})}
	}
	one := scan("ann", 7, "one", 0)
	if g := one["job"].Holders[0]; g.Value != "one" || g.Revision != 0 {
		t.Errorf("the holder is %v", g)
	}
	for what, tt := range map[string]struct {
		now  map[string]*schema.Lock
		want []*schema.WatchEvent
	}{
		"nothing":           {one, nil},
		"another value":     {scan("ann", 7, "two", 1), []*schema.WatchEvent{{Event: "value", Token: 7, Value: "two", Revision: 1}}},
		"the same text":     {scan("ann", 7, "one", 1), []*schema.WatchEvent{{Event: "value", Token: 7, Value: "one", Revision: 1}}},
		"none":              {scan("ann", 7, "", 2), []*schema.WatchEvent{{Event: "value", Token: 7, Revision: 2}}},
		"another holder":    {scan("bob", 8, "bob's", 0), []*schema.WatchEvent{{Event: "released", Token: 7}, {Event: "granted", Token: 8, Value: "bob's"}}},
		"no holder":         {scan("", 0, "", 0), []*schema.WatchEvent{{Event: "released", Token: 7}}},
		"the next, as last": {scan("bob", 8, "one", 0), []*schema.WatchEvent{{Event: "released", Token: 7}, {Event: "granted", Token: 8, Value: "one"}}},
	} {
		got := changes(one, tt.now, now)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %d events: %v", what, len(got), got)
			continue
		}
		for i := range got {
			e, want := got[i].event, tt.want[i]
			if e.Event != want.Event || e.Token != want.Token || e.Value != want.Value || e.Revision != want.Revision || e.Name != "job" {
				t.Errorf("%s: event %d is %v, want %v", what, i, e, want)
			}
		}
	}
}
