package etcd_test

import (
	"context"
	"net"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast/storage"
)

// full is an etcd that has reached its quota: it reads, and refuses each write.
type full struct {
	etcdserverpb.UnimplementedKVServer
}

func (full) Range(context.Context, *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	return &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: 1}}, nil
}

func (full) Txn(context.Context, *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	return nil, rpctypes.ErrGRPCNoSpace
}

// TestFull: the error of a write that a full etcd refuses names the quota, the cure and the page about both.
func TestFull(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, full{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	store := open(t, "etcd://"+listener.Addr().String())
	for what, err := range map[string]error{
		"a write": store.Mutate(t.Context(), add("row", "value")),
		"a swap": func() error {
			_, err := store.Swap(t.Context(), &storage.Swap{Key: "row", Column: "cell", Absent: true, New: "value"})
			return err
		}(),
	} {
		t.Run(what, func(t *testing.T) {
			of(t, err, storage.ErrRefused, "database space exceeded")
			of(t, err, storage.ErrRefused, "--quota-backend-bytes")
			of(t, err, storage.ErrRefused, "docs/stores.md")
		})
	}
}
