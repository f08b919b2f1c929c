package realstore_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
)

// killed makes the test program start a server and wait to be killed.
const killed = "HOLDFAST_TEST_KILLED"

func TestMain(m *testing.M) {
	if os.Getenv(killed) == "" {
		goleak.VerifyTestMain(m)
	}
	os.Exit(m.Run())
}

// TestToBeKilled is the test that TestKilled starts.
func TestToBeKilled(t *testing.T) {
	if os.Getenv(killed) == "" {
		t.Skip("TestKilled starts it")
	}
	fmt.Printf("at %s\n", realstore.StartRedis(t).Address())
	select {}
}
