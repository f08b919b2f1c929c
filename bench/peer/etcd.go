package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// etcd is one member of etcd, and concurrency.Mutex of its own client.
func etcd() service {
	return service{name: "etcd-mutex", recipe: recipe.Etcd(), connect: connectEtcd}
}

// etcdOfThree is three members, each with its own folder; the client knows all of them.
func etcdOfThree() service {
	s := service{name: "etcd-3-mutex", recipe: recipe.Etcd(), extra: true, members: 3, connect: connectEtcd}
	s.as = func(member int, ports [][]string) []string {
		var all []string
		for i, p := range ports {
			all = append(all, fmt.Sprintf("m%d=http://127.0.0.1:%s", i, p[1]))
		}
		return []string{"--name", fmt.Sprintf("m%d", member), "--initial-cluster", strings.Join(all, ",")}
	}
	return s
}

// dialLimit is the time limit for a connection.
const dialLimit = 10 * time.Second

func connectEtcd(ctx context.Context, address string, workers int) (load.Client, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(address, ","), DialTimeout: dialLimit, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	if _, err := client.Get(ctx, "bench"); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	c := &etcdClient{client: client, sessions: make([]*concurrency.Session, workers)}
	err = forEach(workers, func(i int) (err error) {
		c.sessions[i], err = concurrency.NewSession(client)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// etcdClient is one connection, and a session (a lease) for each worker.
type etcdClient struct {
	client   *clientv3.Client
	sessions []*concurrency.Session
}

func (c *etcdClient) Worker(_ context.Context, number int) (load.Locker, error) {
	if number >= len(c.sessions) {
		return nil, errTooMany(number, len(c.sessions))
	}
	return etcdLocker{c.sessions[number]}, nil
}

// Close ends the sessions, and with them all remaining locks.
func (c *etcdClient) Close() error {
	err := forEach(len(c.sessions), func(i int) error {
		if c.sessions[i] == nil {
			return nil
		}
		return c.sessions[i].Close()
	})
	return errors.Join(err, c.client.Close())
}

type etcdLocker struct{ session *concurrency.Session }

func (l etcdLocker) Lock(ctx context.Context, name string) (load.Held, error) {
	mutex := concurrency.NewMutex(l.session, name)
	if err := mutex.Lock(ctx); err != nil {
		return nil, err
	}
	return etcdHeld{mutex, l.session}, nil
}

type etcdHeld struct {
	mutex   *concurrency.Mutex
	session *concurrency.Session
}

func (h etcdHeld) Unlock(ctx context.Context) error { return h.mutex.Unlock(ctx) }

// Check reports whether the lease is no longer kept alive.
func (h etcdHeld) Check() error { return h.session.Ctx().Err() }
