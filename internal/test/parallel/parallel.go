package parallel

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
)

// Tests raises the default of the flag -parallel, which is the number of processors, to 16, or to six with the race
// detector. A TestMain calls it before flags are parsed; the command line overrides it. It panics in a program that is
// not a test.
func Tests() { raise(atOnce) }

// Programs is Tests for a package whose tests start programs: ten run at the same time.
func Programs() { raise(ofPrograms) }

func raise(least int) {
	if runtime.GOMAXPROCS(0) >= least {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(least)); err != nil {
		panic(fmt.Sprintf("parallel: raise the flag -parallel: %v", err))
	}
}
