package main

import (
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// A member of package node has a port for members alone. It is left out, but a member that refuses is not.
func TestMembersWithoutClientsAreLeftOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	admin, err := client.DialAdmin(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Tokens(t.Context()); !servesNone(withoutOp(err)) {
		t.Errorf("a port without clients' calls counts as a member that serves clients: %v", err)
	}
	for _, err := range []error{nil, api.Fail(api.CodeUnsupported, "this member keeps no tokens"), errors.New("no answer")} {
		if servesNone(err) {
			t.Errorf("left out: %v", err)
		}
	}
}

// A document of the network API keeps its form when a field is added.
func TestExtendedDocument(t *testing.T) {
	got, err := extended(&schema.AccessToken{Name: `a"b`}, "members", []string{"a", "b"})
	if want := `{"name":"a\"b","created":"","members":["a","b"]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
