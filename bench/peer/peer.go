package peer

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// service is one kind of lock.
type service struct {
	name   string
	recipe recipe.Recipe
	more   []string // arguments of the server's command, besides the recipe's
	// members is the number of servers; 0 means one. As returns the further arguments of one's command, which needs the
	// addresses of all.
	members int
	as      func(member int, ports [][]string) []string
	extra   bool // measured only if named
	bound   func(workload string, wanted int) int
	connect func(ctx context.Context, address string, workers int) (load.Client, error)
}

func services() []service {
	return []service{etcd(), etcdOfThree(), redsyncOver(redis("redis-redsync")), rueidislockOver(redis("redis-rueidislock")), redsyncOver(redisAOF("redis-aof-redsync")), postgresql()}
}

// Names lists the services, in the order of measurement.
func Names() (names []string) {
	for _, s := range services() {
		names = append(names, s.name)
	}
	return names
}

// Usual returns the services measured by default.
func Usual() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		return slices.ContainsFunc(services(), func(s service) bool { return s.name == name && s.extra })
	})
}

// Missing is the error of a service whose server is not installed.
type Missing struct {
	Service string
	recipe.Missing
}

// Error says what is missing and how to get it.
func (m *Missing) Error() string { return m.Service + ": " + m.Missing.Error() }

// Config configures how servers are kept.
type Config struct {
	// Keeper is the command that runs this program as a keeper; the plan follows it. See [Keep].
	Keeper []string
}

// Target returns the service with that name. If its server is not installed the error is a [*Missing].
func (c Config) Target(ctx context.Context, name string) (*Target, error) {
	all := services()
	i := slices.IndexFunc(all, func(s service) bool { return s.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is no service; %s are", name, strings.Join(Names(), ", "))
	}
	return c.hosting(ctx, all[i])
}

// versionOf returns the first line of a program's version output.
func versionOf(ctx context.Context, path string) (string, error) {
	said, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	line, _, _ := strings.Cut(string(said), "\n")
	return line, nil
}
