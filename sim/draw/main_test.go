package draw

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// rewrite lets golden pictures be what the code draws now.
var rewrite = flag.Bool("rewrite", false, "write the golden pictures anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
