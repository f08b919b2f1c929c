package parallel

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
)

// atOnce is how many tests of a package run beside each other at least, if -parallel does not say otherwise. With six,
// two processors are busy and leases of some seconds are kept.
const atOnce = 6

// Tests raises the default of the flag -parallel, which is the number of processors, to six. A TestMain calls it before
// flags are parsed. What the command line says goes first. It panics in a program that is not a test.
func Tests() {
	if runtime.GOMAXPROCS(0) >= atOnce {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(fmt.Sprintf("parallel: raise the flag -parallel: %v", err))
	}
}
