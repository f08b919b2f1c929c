package folder_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childVariable is the variable that makes this program a child of a test: the child's task and its arguments.
const childVariable = "HOLDFAST_TEST_FOLDER_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childVariable); task != "" {
		os.Exit(child(task, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
