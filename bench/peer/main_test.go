package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// keeperWord makes the test program a keeper, and fakeWord a server that serves nothing.
const (
	keeperWord = "keep-a-server"
	fakeWord   = "be-a-server"
)

// The manners of a server that serves nothing.
const (
	ready   = "ready"   // it says that it serves
	silent  = "silent"  // it does not
	falling = "falling" // it ends before
	deaf    = "deaf"    // it says that it serves, and heeds no signal that can be caught
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == keeperWord:
		if err := Keep(os.Args[2], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 4 && os.Args[1] == fakeWord:
		beServer(os.Args[2], os.Args[3])
	default:
		goleak.VerifyTestMain(m)
	}
}

// beServer leaves its process id in a file of its folder, and goes on until it is ended.
func beServer(manner, file string) {
	if manner == deaf {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	switch manner {
	case falling:
		fmt.Println("it was too much")
		os.Exit(3)
	case ready, deaf:
		fmt.Println("now Ready TO serve")
	}
	select {}
}

func own(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func config(t *testing.T) Config {
	t.Helper()
	return Config{Keeper: []string{own(t), keeperWord}}
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// required is the variable that makes a missing server a mistake instead of a test that
// is left out.
const required = "TEST_PEERS"

// isMissing says whether an error is that of a server that is not installed, and may be.
func isMissing(err error) bool {
	var missing *Missing
	return errors.As(err, &missing) && os.Getenv(required) == ""
}

// each runs a test with every service whose server is installed, and names the others.
func each(t *testing.T, test func(t *testing.T, target *Target)) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			target, err := config(t).Target(limited(t), name)
			if isMissing(err) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			test(t, target)
		})
	}
}
