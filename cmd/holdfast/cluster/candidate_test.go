package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// candidateWord makes this test's own program a candidate.
const candidateWord = "candidate"

// candidateTTL is the lifetime of a candidate's session: so long, and no longer, a dead leader holds up the others.
const candidateTTL = 2 * time.Second

// runCandidate is the main function of a candidate.
func runCandidate(arguments []string) int {
	clustertest.DefaultSignals()
	err := clustertest.Candidate{
		Server: arguments[0], Register: arguments[1], TTL: candidateTTL, Orders: os.Stdin, Events: os.Stdout,
	}.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
