package redis_test

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/issuer"
	"github.com/holdfast-locks/holdfast/internal/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/redis"
)

// encrypt lets clients reach a server by TLS, and returns the address.
func encrypt(t *testing.T, address string, certificate tls.Certificate) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				client.Close()
				continue
			}
			copying := func(to, from net.Conn) func() {
				return func() {
					_, _ = io.Copy(to, from) // until either ends
					to.Close()
					from.Close()
				}
			}
			work.Go(copying(server, client))
			work.Go(copying(client, server))
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		work.Wait()
	})
	return listener.Addr().String()
}

// TestEncrypted: with an authority's certificate it speaks to a server that this authority has
// issued one to, and to no other.
func TestEncrypted(t *testing.T) {
	authority, err := issuer.New("test")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := authority.Issue(issuer.Wish{Hosts: []string{"cache.example"}, Member: true})
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	address := encrypt(t, realstore.StartRedis(t).Address(), certificate.TLS())
	if err := open(t, "rediss://"+address+"?server_name=cache.example&ca="+ca).Mutate(t.Context(), add("row", "c", "v")); err != nil {
		t.Error(err)
	}
	for options, says := range map[string]string{"?server_name=cache.example": "unknown authority", "?ca=" + ca: "127.0.0.1"} {
		_, err := redis.Open(t.Context(), "rediss://"+address+options)
		of(t, err, storage.ErrRefused, says)
	}
}
