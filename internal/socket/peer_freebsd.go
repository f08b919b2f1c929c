package socket

// process is not supported.
func process(int) int { return 0 }
