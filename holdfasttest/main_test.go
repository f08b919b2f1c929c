package holdfasttest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests()
	goleak.VerifyTestMain(m)
}
