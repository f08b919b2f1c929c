package recipe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
)

// Recipe describes how to find, prepare and start one kind of server.
type Recipe struct {
	// Name is that of the program: "redis-server".
	Name string
	// Pattern is where the program may be outside PATH, as for [filepath.Glob]. Empty means nowhere.
	Pattern string
	// Debian is the package that has the program.
	Debian string
	// Ports is how many of them the server listens on. Clients know the first.
	Ports int
	// Ready is the lower-case text that the server prints when it is ready.
	Ready string
	// Drop reports that the server refuses to run as root. See [Unprivileged].
	Drop bool

	setup func(program, folder string, ports []string) [][]string
}

// Commands returns the commands to run in folder, in sequence: the last one is the server, the others prepare an empty
// folder. The arguments in more follow those of the server.
func (r Recipe) Commands(program, folder string, ports []string, more ...string) [][]string {
	commands := r.setup(program, folder, ports)
	last := len(commands) - 1
	commands[last] = append(commands[last], more...)
	return commands
}

// Missing is the error of a server that is not installed.
type Missing struct {
	Program string
	Debian  string // the package that has it
}

// Error says what is missing and how to get it.
func (m *Missing) Error() string {
	return fmt.Sprintf("no program %s is installed: apt-get install %s", m.Program, m.Debian)
}

// Find searches PATH, then the pattern: of several matches, the last one. If there is none the error is a [*Missing].
func (r Recipe) Find() (string, error) {
	path, err := exec.LookPath(r.Name)
	switch {
	case err == nil:
		return path, nil
	case !errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("look for program %s: %w", r.Name, err)
	}
	found, err := filepath.Glob(r.Pattern)
	if err != nil {
		return "", fmt.Errorf("look for program %s: %w", r.Name, err)
	}
	if len(found) == 0 {
		return "", &Missing{r.Name, r.Debian}
	}
	return found[len(found)-1], nil
}

// Etcd is a cluster of one etcd, which writes to disk before it answers.
func Etcd() Recipe {
	return Recipe{
		Name: "etcd", Debian: "etcd-server", Ports: 2, Ready: "ready to serve client requests",
		setup: func(program, folder string, ports []string) [][]string {
			client, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
			return [][]string{{
				program, "--name", "alone", "--data-dir", filepath.Join(folder, "data"),
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "alone=" + peer,
			}}
		},
	}
}

// Redis is one Redis with its defaults: no log, occasional snapshots.
func Redis() Recipe {
	return Recipe{
		Name: "redis-server", Debian: "redis-server", Ports: 1, Ready: "ready to accept connections",
		setup: func(program, folder string, ports []string) [][]string {
			return [][]string{{program, "--port", ports[0], "--bind", "127.0.0.1", "--dir", folder}}
		},
	}
}

// PostgreSQL is one server with a database postgres and a user postgres, who needs no
// password. It has no socket but the port: the path of one may have 107 bytes at most, which
// many a folder for tests is longer than.
func PostgreSQL() Recipe {
	return Recipe{
		Name: "postgres", Pattern: "/usr/lib/postgresql/*/bin/postgres", Debian: "postgresql", Ports: 1,
		Ready: "database system is ready to accept connections", Drop: true,
		setup: func(program, folder string, ports []string) [][]string {
			data := filepath.Join(folder, "data")
			return [][]string{
				{sibling(program, "initdb"), "--pgdata", data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"},
				{program, "-D", data, "-h", "127.0.0.1", "-p", ports[0], "-k", ""},
			}
		},
	}
}

// sibling is another program of the same package: links are followed, for the folders of
// some have only a part of it.
func sibling(program, other string) string {
	if target, err := filepath.EvalSymlinks(program); err == nil {
		program = target
	}
	return filepath.Join(filepath.Dir(program), other)
}

// Unprivileged is the user that a server runs as that refuses root: user postgres or, where
// there is none, one without any rights; and 0, 0, which is the user that runs this, where that is not
// root.
func Unprivileged() (userID, groupID int, err error) {
	if os.Getuid() != 0 {
		return 0, 0, nil
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		if found, err = user.Lookup("nobody"); err != nil {
			return 0, 0, fmt.Errorf("find a user for a server that refuses to run as root: %w", err)
		}
	}
	if userID, err = strconv.Atoi(found.Uid); err == nil {
		groupID, err = strconv.Atoi(found.Gid)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("find a user for a server that refuses to run as root: %w", err)
	}
	return userID, groupID, nil
}
