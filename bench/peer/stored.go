package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/target"
	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/open"
)

// storedSuffix is the suffix of the names of Holdfast's own locks in a third-party server: by claims; by conditional
// writes with casSuffix after it, and if a process keeps released names, with keptSuffix after that.
const (
	storedSuffix = "-store"
	casSuffix    = "-cas"
	keptSuffix   = "-kept"
)

// storing returns the servers that Holdfast keeps locks in, each configured as for its own lock service, with the URL
// to open.
func storing() map[string]struct {
	service service
	url     string
} {
	type server = struct {
		service service
		url     string
	}
	return map[string]server{
		"etcd":       {etcd(), "etcd://%s"},
		"redis":      {redis(""), "redis://%s"},
		"redis-aof":  {redisAOF(""), "redis://%s"},
		"postgresql": {postgresql(), "postgres://postgres@%s/postgres?sslmode=disable"},
	}
}

// StoredNames lists Holdfast's own locks in third-party servers, in the order of measurement. They are measured only if
// named.
func StoredNames() (names []string) {
	for _, server := range []string{"etcd", "redis", "redis-aof", "postgresql"} {
		names = append(names, server+storedSuffix, server+storedSuffix+casSuffix, server+storedSuffix+casSuffix+keptSuffix)
	}
	return names
}

// Stored is Holdfast's own locks in a third-party server, which is started as for the locks that they are compared
// with. It is a [load.Target], a [load.RequestCounter] and a [target.Hosted].
//
// [target.Hosted]: https://pkg.go.dev/github.com/holdfast-locks/holdfast/internal/load/target#Hosted
type Stored struct {
	load.Target // the locks
	host        *Target
}

// Stored returns the locks with that name. If the server is not installed the error is a [*Missing].
func (c Config) Stored(ctx context.Context, name string) (*Stored, error) {
	kind, keeps := strings.CutSuffix(name, keptSuffix)
	kind, cas := strings.CutSuffix(kind, casSuffix)
	server, found := storing()[strings.TrimSuffix(kind, storedSuffix)]
	if !found || !slices.Contains(StoredNames(), name) {
		return nil, fmt.Errorf("%q is no store's; %s are", name, strings.Join(StoredNames(), ", "))
	}
	server.service.name = name
	host, err := c.hosting(ctx, server.service)
	if err != nil {
		return nil, err
	}
	s := &Stored{host: host}
	s.Target = target.Over(target.Stored{Name: name, CAS: cas, Keeps: keeps, Open: func(ctx context.Context) (storage.Store, error) {
		return open.Open(ctx, fmt.Sprintf(server.url, host.address))
	}})
	return s, nil
}

// Program names the server.
func (s *Stored) Program() string { return s.host.Program() }

// Start starts the server, and opens the store.
func (s *Stored) Start(ctx context.Context) error {
	if err := s.host.Start(ctx); err != nil {
		return err
	}
	if err := s.Target.Start(ctx); err != nil {
		return errors.Join(err, s.host.Stop())
	}
	return nil
}

// Stop ends the locks, and the server.
func (s *Stored) Stop() error { return errors.Join(s.Target.Stop(), s.host.Stop()) }

// CountedRequests returns the requests to the server.
func (s *Stored) CountedRequests() load.Requests {
	return s.Target.(load.RequestCounter).CountedRequests()
}

// Usage returns the resource usage of the server's processes.
func (s *Stored) Usage(ctx context.Context, settle bool) (load.Usage, error) {
	return s.host.Usage(ctx, settle)
}

// Processes returns the server's processes.
func (s *Stored) Processes() ([]int, error) { return s.host.Processes() }

// hosting returns a service's target, with its server located.
func (c Config) hosting(ctx context.Context, s service) (*Target, error) {
	if len(c.Keeper) == 0 {
		return nil, errors.New("field Keeper is empty; want the command that makes this program a keeper")
	}
	path, err := s.recipe.Find()
	if missing := (*recipe.Missing)(nil); errors.As(err, &missing) {
		return nil, &Missing{s.name, *missing}
	}
	if err != nil {
		return nil, err
	}
	version, err := versionOf(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Target{config: c, service: s, path: path, version: version}, nil
}
