package grpc

import (
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
)

// FuzzHello: callers say anything of themselves, one after the other. A caller that is let
// in is the only process under its id, has no more streams than one member may, and every
// stream that is not known any more has ended. Each refusal can be encoded.
func FuzzHello(f *testing.F) {
	add := func(hellos ...*schema.MemberHello) {
		var said [4][]byte
		for i, hello := range hellos {
			b, err := proto.Marshal(hello)
			if err != nil {
				f.Fatal(err)
			}
			said[i] = b
		}
		f.Add(said[0], said[1], said[2], said[3])
	}
	changed := func(change func(*schema.MemberHello)) *schema.MemberHello {
		hello := politely()
		change(hello)
		return hello
	}
	add(politely(), politely())
	add(politely(), changed(func(h *schema.MemberHello) { h.Dialled = "b:1" }), changed(func(h *schema.MemberHello) { h.Process++ }))
	add(politely(), changed(func(h *schema.MemberHello) { h.Process, h.Incarnation = 1, 2 }), politely())
	add(politely(), changed(func(h *schema.MemberHello) { h.Process, h.Address = 1, "127.0.0.1:8" }))
	add(changed(func(h *schema.MemberHello) { h.Id = 1 }), changed(func(h *schema.MemberHello) { h.Cluster = 78 }), changed(func(h *schema.MemberHello) { h.Version++ }),
		changed(func(h *schema.MemberHello) { h.Address = "a\x00" }))
	identity := transport.Identity{ID: 1, Incarnation: 1, Cluster: 77, Name: "a", Address: "127.0.0.1:1"}
	f.Fuzz(func(t *testing.T, first, second, third, fourth []byte) {
		tr, err := New(Config{Identity: func() transport.Identity { return identity }})
		if err != nil {
			t.Fatal(err)
		}
		var met []*incoming
		for _, said := range [][]byte{first, second, third, fourth} {
			hello := &schema.MemberHello{}
			if proto.Unmarshal(said, hello) != nil {
				continue
			}
			in := &incoming{t: tr, over: make(chan struct{})}
			from, err := tr.read(hello)
			if err == nil {
				err = tr.learnCaller(in, from)
			}
			if err == nil {
				met = append(met, in)
			} else if !utf8.ValidString(err.Error()) {
				t.Errorf("a refusal that cannot be sent: %q", err)
			}
		}
		checkKnown(t, tr, met)
		for _, in := range met {
			tr.forgetCaller(in)
		}
		for id, k := range tr.known {
			if k.live() {
				t.Errorf("member %d is connected by nothing", id)
			}
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

// checkKnown checks what a transport knows of the callers that it has let in.
func checkKnown(t *testing.T, tr *Transport, met []*incoming) {
	t.Helper()
	for _, in := range met {
		k := tr.known[in.from.ID]
		if k == nil {
			t.Fatalf("%v was let in, and is not known", in.from)
		}
		_, listed := k.streams[in]
		ended := false
		select {
		case <-in.over:
			ended = true
		default:
		}
		switch {
		case listed == ended:
			t.Errorf("a stream of %v is listed: %t, and has ended: %t", in.from, listed, ended)
		case listed && k.process != in.from.process:
			t.Errorf("%v speaks at the same time as another process of its id", in.from)
		case in.from.ID == tr.identity().ID, in.from.Cluster != 0 && in.from.Cluster != tr.identity().Cluster, len(k.streams) > streamsOfOne:
			t.Errorf("%v was let in, with %d streams", in.from, len(k.streams))
		}
	}
}
