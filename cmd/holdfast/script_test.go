package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestMain lets the test program be holdfast, its guardian and its starter.
func TestMain(m *testing.M) {
	parallel.Programs()
	testscript.Main(leakless{m}, map[string]func(){name: main, registerName: register})
}

// workshop is where the tests build the binary that users have.
var workshop string

// leakless is the tests, and a look for goroutines that they have left behind.
type leakless struct{ *testing.M }

func (l leakless) Run() (code int) {
	clustertest.DefaultSignals()
	forgetEnvironment()
	var err error
	if workshop, err = os.MkdirTemp("", "holdfast-workshop-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(workshop)
	goleak.VerifyTestMain(l.M, goleak.Cleanup(func(verdict int) { code = verdict }))
	return code
}

// forgetEnvironment takes the variables away that the command reads: those of the user who runs the tests are not meant for them.
func forgetEnvironment() {
	for _, variable := range os.Environ() {
		if key, _, _ := strings.Cut(variable, "="); strings.HasPrefix(key, "HOLDFAST_") {
			os.Unsetenv(key)
		}
	}
}

// TestScript runs the scripts in testdata/script. In addition to the usual commands they
// have:
//
//	serve [NAME] [flags…]   starts `holdfast serve` with free ports in the
//	                        background, waits for its ready line, and sets
//	                        HOLDFAST_SERVER, HTTP (http://HOST:PORT) and PID. With
//	                        NAME, a capital word, it sets NAME_SERVER, NAME_HTTP and
//	                        NAME_PID as well. It is killed at the end of the script.
//	serve-start [NAME] …    the same, but waits only until it listens: for a server
//	                        that recovers.
//	serve-ready [NAME]      waits for the ready line, and prints it for stdout.
//	serve-signal SIG [NAME] sends TERM, INT, KILL, STOP or CONT.
//	serve-wait CODE [NAME]  waits for its end and compares its exit code (after a
//	                        signal: 128 and its number).
//	serve-log [NAME]        prints what it has written to standard error, for stdout.
//	serve-says PATTERN [NAME]  waits until it has written a line that matches.
//	status-says PATTERN [flags…]  asks `holdfast status` until it prints a line that matches;
//	                        with ! until it prints none. What it prints is there for stdout.
//	addresses COUNT         sets A1, A2 and so on to addresses at which no process listens, and
//	                        ALL to all of them, for the founders of a cluster.
//	exit CODE COMMAND …     runs a command and compares its exit code exactly; what
//	                        it wrote is there for stdout and stderr.
//	hold NAME [flags…]      holds a name until the end of the script, through a client
//	                        of the test program: -space, -owner, -reason, -shared,
//	                        -slots U/N, -ttl D, -wait. It is dropped without a release when
//	                        its server is killed.
//	queue NAME [flags…]     waits for a name in the same way; goes on when it is queued.
//	hold-many COUNT PREFIX  holds that many names, PREFIX000000 and so on.
//	let-go                  ends the sessions of hold and queue, and waits until the
//	                        server has acknowledged that.
//	watch [flags…]          starts `holdfast locks --watch`, and goes on when it has
//	                        shown a first event: it locks and unlocks "watch/probe" in
//	                        a session of its own until then.
//	watch-see PATTERN       waits until it has shown a line that matches.
//	watch-stop CODE [SIG]   ends it with SIG (without: waits for its end), compares
//	                        its exit code, and prints what it wrote, for stdout.
//	fetch URL [HEADER…] [BODY]  prints the body of an HTTP answer, for stdout. A HEADER is "NAME: VALUE",
//	                        whose last @FILE stands for what the file has. With a BODY, which
//	                        begins with {, it is a POST of JSON.
//	certificates            writes ca.pem, and a server's and a client's certificate
//	                        and key: server.pem, server.key, client.pem, client.key.
//	half-request            begins an HTTP request to the server, and never ends it.
//	notified                sets NOTIFY_SOCKET before a serve, and prints after its end
//	                        what the service manager has received.
//	answering DOCUMENT      a member that answers every operator's deed on a space with
//	                        the document; with CODE SENTENCE it refuses it, with the word
//	                        silence it never answers. It sets HOLDFAST_SERVER.
//	terminal FILE COMMAND … runs a command on a terminal, at which a script types what the
//	                        file has; what the terminal shows is there for stdout.
//	dialogue FILE COMMAND … runs a command on a terminal, and talks with it: the file has lines
//	                        "see REGEXP" and "type KEYS".
//	greater A B             compares two whole numbers.
//
// A program that is ended by a signal n has the exit code 128+n for all of these. A script that
// takes longer than scriptLimit fails at the line that waits. One that fails prints what each of its
// servers has written, and, where its time was over, what the goroutines of those did.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			b, err := setUp(env)
			env.Defer(func() {
				if test := env.T().(interface {
					Failed() bool
					Log(...any)
				}); test.Failed() {
					b.printLogs(test.Log)
				}
			})
			bound(env, time.After(scriptLimit), func(sentence string) {
				t.Error(sentence)
				b.dump()
			})
			return err
		},
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "brief":
				return parallel.Brief(), nil
			case "container": // this user may make a namespace of processes
				return exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run() == nil, nil
			case "network": // this user may make a network with addresses of its own
				return exec.Command("unshare", "--net", "sh", "-c", "ip link set lo up && ip addr add 10.99.0.1/32 dev lo").Run() == nil, nil
			case "terminal": // HUP ends a server then
				terminal, err := os.Open("/dev/tty")
				if err != nil {
					return false, nil
				}
				return true, terminal.Close()
			}
			return false, fmt.Errorf("condition %q is none; brief, container, network and terminal are", condition)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":        scriptServe,
			"serve-start":  scriptServeStart,
			"serve-ready":  scriptServeReady,
			"serve-signal": scriptServeSignal,
			"serve-wait":   scriptServeWait,
			"serve-log":    scriptServeLog,
			"serve-says":   scriptServeSays,
			"exit":         scriptExit,
			"hold":         scriptHold,
			"queue":        scriptQueue,
			"hold-many":    scriptHoldMany,
			"let-go":       scriptLetGo,
			"watch":        scriptWatch,
			"watch-see":    scriptWatchSee,
			"watch-stop":   scriptWatchStop,
			"certificates": scriptCertificates,
			"half-request": scriptHalfRequest,
			"notified":     scriptNotified,
			"fetch":        scriptFetch,
			"terminal":     scriptTerminal,
			"dialogue":     scriptDialogue,
			"greater":      scriptGreater,
			"addresses":    scriptAddresses,
			"status-says":  scriptStatusSays,
			"answering":    scriptAnswering,
		},
	})
}

// setUp gives every script a home of its own, and nothing in its background.
func setUp(env *testscript.Env) (*background, error) {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("NO_COLOR", "1")
	// A program with the race detector sleeps a second before it exits, and the
	// scripts start hundreds.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	b := &background{servers: map[string]*runningServer{}, variables: env.Vars}
	env.Values[backgroundKey{}] = b
	return b, os.MkdirAll(home, 0o700)
}

// scriptExit runs a command whose exit code matters.
func scriptExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		ts.Fatalf("%v", err)
	}
	got := 0
	if ended != nil {
		got = statusOf(ended.ProcessState)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// scriptFetch asks by HTTP.
func scriptFetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: fetch URL [HEADER…] [BODY]")
	}
	method, body := http.MethodGet, ""
	if last := args[len(args)-1]; strings.HasPrefix(last, "{") {
		method, body, args = http.MethodPost, last, args[:len(args)-1]
	}
	request, err := http.NewRequest(method, args[0], strings.NewReader(body))
	ts.Check(err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range args[1:] {
		key, value, _ := strings.Cut(header, ": ")
		if before, file, found := strings.Cut(value, "@"); found {
			value = before + strings.TrimSpace(ts.ReadFile(file))
		}
		request.Header.Set(key, value)
	}
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer answer.Body.Close()
	_, err = io.Copy(ts.Stdout(), answer.Body)
	ts.Check(err)
}

// scriptGreater compares numbers: tokens.
func scriptGreater(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: greater A B")
	}
	a, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	b, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	if a <= b {
		ts.Fatalf("%d is not greater than %d", a, b)
	}
}

// scriptAddresses finds addresses for a cluster.
func scriptAddresses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: addresses COUNT")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	all, err := clustertest.FreeAddresses(count)
	ts.Check(err)
	for i, address := range all {
		ts.Setenv("A"+strconv.Itoa(i+1), address)
	}
	ts.Setenv("ALL", strings.Join(all, ","))
}
