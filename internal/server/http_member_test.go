package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/protocol"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOverAMember serves a real member, with its clock, its cell on disk, and the
// waits for what it may promise.
func TestOverAMember(t *testing.T) {
	observer := server.NewObserver([]string{"default"})
	member, err := host.Start(t.Context(), host.Config{Name: "a", State: t.TempDir(), Serves: true, Observe: observer.Observe})
	must(t, err)
	defer func() { must(t, member.Close()) }()
	must(t, member.WaitReady(t.Context()))
	var spaces []server.Space
	for i, space := range member.Spaces() {
		spaces = append(spaces, server.Space{Name: space.Name, Port: protocol.Port(i + 1), Protocol: "central", Class: holdfast.Fenced, Options: map[string]string{"partition": "primary"}})
	}
	s, err := server.New(server.Config{
		Driver: member.Driver(), View: member.View, Observer: observer, Spaces: spaces,
		Identity: func() server.Identity { return server.Identity{Member: &schema.Member{Name: "a"}} },
	})
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.AcceptHTTP(listener) }()
	defer func() {
		must(t, s.Shutdown(context.Background()))
		must(t, <-served)
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	got := &schema.Acquired{}
	call(t, client, fmt.Sprintf("http://%s/v1/spaces/default/acquire", listener.Addr()),
		map[string]any{"name": "orders/42", "ttl": "1m"}, got)
	if got.Token == 0 || got.Ttl.AsDuration() != time.Minute || got.TtlCut != "" {
		t.Errorf("acquired %+v", got)
	}
	released := &schema.ReleasedLock{}
	call(t, client, fmt.Sprintf("http://%s/v1/spaces/default/release", listener.Addr()),
		map[string]any{"name": "orders/42", "token": fmt.Sprint(got.Token), "session": got.Session}, released)
	if !released.Released {
		t.Errorf("released %+v", released)
	}
	call(t, client, fmt.Sprintf("http://%s/v1/spaces/default/acquire", listener.Addr()), map[string]any{"name": "orders/42"}, got)
	if got.Ttl.AsDuration() != 10*time.Second || got.TtlCut != "" {
		t.Errorf("the default ttl is %v, %q", got.Ttl, got.TtlCut)
	}
	renewed := &schema.Renewed{}
	call(t, client, fmt.Sprintf("http://%s/v1/sessions/renew", listener.Addr()), map[string]any{"session": got.Session, "ttl": "1h"}, renewed)
	if want := "limits.ttl of this member allows no more"; renewed.Ttl.AsDuration() != time.Minute || renewed.TtlCut != want {
		t.Errorf("of an hour %v is left, because %q; want 1m0s, %q", renewed.Ttl, renewed.TtlCut, want)
	}
}

// call sends a body and reads the answer of a call that is done.
func call(t *testing.T, client *http.Client, url string, body any, answer proto.Message) {
	t.Helper()
	raw, err := json.Marshal(body)
	must(t, err)
	response, err := client.Post(url, "application/json", bytes.NewReader(raw))
	must(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, response.Status)
	}
	text, err := io.ReadAll(response.Body)
	must(t, err)
	must(t, api.NewJSON().Read(text, answer))
}
