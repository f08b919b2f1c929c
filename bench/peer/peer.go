package peer

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// program is a server's, and how it is got.
type program struct {
	name    string
	pattern string // where it may lie besides, as for [filepath.Glob]; "" means nowhere
	debian  string // the package that has it
}

// service is one way to lock something.
type service struct {
	name    string
	program program
	extra   bool // measured only where it is asked for
	ports   int
	ready   string // what the server says when it serves, in lower case
	// setup are the commands that run before the server, and the server's own. A word
	// [folder] in them is where its data shall be.
	setup   func(program string, ports []string) [][]string
	drop    bool // it refuses to run as root
	bound   func(workload string, wanted int) int
	connect func(ctx context.Context, address string, workers int) (load.Client, error)
}

func services() []service {
	return []service{etcd(), redsyncOver(redis("redis-redsync")), rueidislockOver(redis("redis-rueidislock")), redsyncOver(redisAOF("redis-aof-redsync")), postgresql()}
}

// Names lists the services, in the order in which they are measured.
func Names() (names []string) {
	for _, s := range services() {
		names = append(names, s.name)
	}
	return names
}

// Usual are those that are measured where nobody says which.
func Usual() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		return slices.ContainsFunc(services(), func(s service) bool { return s.name == name && s.extra })
	})
}

// Missing is the error of a service whose server is not installed.
type Missing struct {
	Service string
	Program string
	Debian  string // the package that has it
}

// Error says what is missing and how it is got.
func (m *Missing) Error() string {
	return fmt.Sprintf("%s: no program %s is installed: apt-get install %s", m.Service, m.Program, m.Debian)
}

// Config says how servers are kept.
type Config struct {
	// Keeper is the command that makes this program a keeper; the plan follows it. See
	// [Keep].
	Keeper []string
}

// Target is the service with that name. Where its server is not installed the error is a
// [*Missing].
func (c Config) Target(ctx context.Context, name string) (*Target, error) {
	if len(c.Keeper) == 0 {
		return nil, errors.New("field Keeper is empty; want the command that makes this program a keeper")
	}
	all := services()
	i := slices.IndexFunc(all, func(s service) bool { return s.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is no service; %s are", name, strings.Join(Names(), ", "))
	}
	path, err := all[i].program.find()
	if err != nil {
		return nil, &Missing{name, all[i].program.name, all[i].program.debian}
	}
	version, err := versionOf(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Target{config: c, service: all[i], path: path, version: version}, nil
}

// find looks into PATH, then where the pattern says: of several, the last one.
func (p program) find() (string, error) {
	path, err := exec.LookPath(p.name)
	if err == nil {
		return path, nil
	}
	found, globbed := filepath.Glob(p.pattern)
	if globbed != nil || len(found) == 0 {
		return "", errors.Join(err, globbed)
	}
	return found[len(found)-1], nil
}

// versionOf is the first line that a program says about its version.
func versionOf(ctx context.Context, path string) (string, error) {
	said, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	line, _, _ := strings.Cut(string(said), "\n")
	return line, nil
}
