package socket

import "golang.org/x/sys/unix"

// process queries the process as well; 0 means unknown.
func process(fd int) int {
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return 0
	}
	return pid
}
