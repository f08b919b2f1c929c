package events

import (
	"context"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// FuzzStream: another member may send anything. What watchers get of it can be written,
// and read by them; is what they have asked for; and is no more than a feed keeps.
func FuzzStream(f *testing.F) {
	for _, m := range []*schema.MemberEvents{
		{}, {At: -1, Count: 1, Last: true},
		{Welcome: &schema.MemberHello{Process: 7}, Count: 3, At: math.MaxInt64},
		{Events: []*schema.MemberEvent{{Event: Granted, Space: "default", Name: "x", Token: 7, Time: 1}, {Event: Granted, Space: "default", Name: "x", Token: 1 << 63}}},
		{Events: []*schema.MemberEvent{{Event: Granted, Space: "a b", Name: "x"}, {Event: Released, Space: "default"}, {Event: "newer", Name: "x"}, {Event: View}, nil}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data, "x")
	}
	j := api.NewJSON()
	f.Fuzz(func(t *testing.T, first, second []byte, prefix string) {
		g, err := NewGatherer(Config{Source: NewSource([]string{"default"}), Self: 1, Peers: newNetwork()})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		want := Filter{Space: "default", Prefix: prefix}
		feed, err := g.Watch(t.Context(), want, "", "a", 10)
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		g.mu.Lock()
		of := g.all[want]
		g.mu.Unlock()
		following := newFollowing(of, protocol.Member{ID: 2, Name: "b", Address: "b"}, true)
		for _, data := range [][]byte{first, second} {
			m := &schema.MemberEvents{}
			if proto.Unmarshal(data, m) == nil {
				following.take(m)
			}
		}
		following.publishMissing(following.unheard(time.Now()))
		batches, err := feed.Next(context.Background())
		events := flat(batches)
		if err != nil || len(events) > FeedBound {
			t.Fatalf("%d events, %v", len(events), err)
		}
		for i := range events {
			if !want.wants(events[i].WatchEvent) || events[i].Member != "b" {
				t.Errorf("%+v was not asked for", events[i].WatchEvent)
			}
			if err := j.Read(j.Append(nil, events[i].WatchEvent), &schema.WatchEvent{}); err != nil {
				t.Errorf("%+v cannot be written and read: %v", events[i].WatchEvent, err)
			}
		}
	})
}
