package config

import (
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
)

// prefix is the prefix of our variables.
const prefix = "HOLDFAST_"

// OtherVariables lists the variables of other commands. The daemon ignores them; any other variable that begins with
// HOLDFAST_ and belongs to no key is refused.
func OtherVariables() []string {
	names := []string{
		// Set for the child of `lock`, which may be a daemon.
		"LOCK_NAME", "LOCK_TOKEN", "LOCK_MODE", "LOCK_SESSION", "LOCK_DEADLINE", "LOCK_OUTER",
		// Every client's flags.
		"SERVER", "SPACE", "TIMEOUT", "TOKEN_FILE", "TLS_SERVER_NAME", "JSON", "OUTPUT", "WIDE", "VERBOSE",
		// lock, elect, acquire, renew, release, break.
		"SHARED", "SLOTS", "TRY", "WAIT", "HOLD", "TTL", "OWNER", "REASON", "VALUE", "AGAIN", "DEADLOCK", "ON_WANTED", "REQUIRE",
		"STORE", "STORE_OPTIONS", "STORE_WAIT", "KILL_AFTER", "ON_LOST", "CONFLICT_EXIT_CODE", "SKIP", "STATUS_FD", "DETACH",
		"KEEP", "NO_KEEP", "WHILE_PID", "SESSION", "TOKEN",
		// locks, show, status, top, transfer, force-view.
		"PREFIX", "STALE", "WATCH", "INTERVAL", "NO_RATES", "DIRECT", "MEMBERS", "CONFIRM",
		// access, token, audit, session.
		"FILE", "GROUP", "EXPIRES", "LAST", "FOLLOW", "MEMBER", "SUBJECT",
		// tls init.
		"DIR",
		// snapshot.
		"REPLACE", "ABOVE", "GRACE",
		// sim, bench, demo.
		"PROTOCOL", "SEED", "SEEDS", "SWEEP", "FAULTS", "DURATION", "JOBS", "AS_PUBLISHED", "COVERAGE", "LINEARIZABLE", "HISTORY",
		"TRACE_MEMBER", "SHRINK", "SAVE", "SVG", "SVG_FROM", "SVG_TO", "SVG_EVENTS", "SHOW", "FROM", "TO",
		"LOCKS", "USERS", "CALLS", "ASKS", "CRASHES", "RESTARTS", "PAUSES", "LOSSES", "DUPLICATES", "DELAYS", "DAWDLES", "TRANSFERS", "HOLD_ON", "CAPACITY", "UNITS", "RETAIN", "DEFER", "PUBLISHED", "FAST_CLOCK",
		"QUANTUM", "DEPTH", "UNORDERED", "CHECKPOINT", "RESUME", "SLOW", "SPREAD", "CAS",
		"QUICK",
		"SELF", "WORKLOADS", "TARGETS", "ROUNDS", "WORKERS", "THINK", "DELAY", "SOAK", "EVERY", "CPUPROFILE", "MEMPROFILE",
		// serve itself, besides its keys.
		"PRINT_CONFIG",
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

// environmentProvider reads environment variables as a layer. Of a repeated variable the last one counts.
func (l *loader) environmentProvider(environ []string) *env.Env {
	others, services := OtherVariables(), serviceNames(environ)
	return env.Provider(delimiter, env.Opt{
		Prefix:      prefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, text string) (string, any) {
			at := slices.IndexFunc(l.keys, func(k Key) bool { return k.Env == name })
			if at < 0 {
				if !slices.Contains(others, name) && !ofService(name, services) {
					l.complain(l.unknownVariable(name, others))
				}
				return "", nil
			}
			y := layer{}
			l.put(y, l.keys[at], text, "environment "+name)
			for path, value := range y { // at most one
				return path, value
			}
			return "", nil
		},
	})
}

// unknownVariable does not repeat the value: it may be a secret meant for others.
func (l *loader) unknownVariable(name string, others []string) Problem {
	var candidates []string // without the prefix, which is right and would distort the distance
	for _, other := range others {
		candidates = append(candidates, strings.TrimPrefix(other, prefix))
	}
	for _, key := range l.keys {
		candidates = append(candidates, strings.TrimPrefix(key.Env, prefix))
	}
	fix := "unset it"
	if near := Nearest(strings.TrimPrefix(name, prefix), candidates); near != "" {
		fix = "did you mean " + prefix + near + "?"
	}
	return Problem{
		Key:     name,
		Origin:  "the environment",
		Wrong:   "no command knows this variable",
		Allowed: prefix + "… as `holdfast serve --help` lists them",
		Fix:     fix,
	}
}

// serviceNames returns the Kubernetes Services of this environment, as their variables spell them: a Service called
// holdfast-a puts HOLDFAST_A_SERVICE_HOST, HOLDFAST_A_PORT_4040_TCP and others into every pod of its namespace,
// including ours.
func serviceNames(environ []string) []string {
	var names []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if service, found := strings.CutSuffix(name, "_SERVICE_HOST"); found {
			names = append(names, service)
		}
	}
	return names
}

func ofService(name string, services []string) bool {
	return slices.ContainsFunc(services, func(service string) bool {
		rest, found := strings.CutPrefix(name, service+"_")
		return found && (rest == "PORT" || strings.HasPrefix(rest, "PORT_") || strings.HasPrefix(rest, "SERVICE_"))
	})
}
