package socket

import "golang.org/x/sys/unix"

// process asks for the process as well; 0 means that it is unknown.
func process(fd int) int {
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return 0
	}
	return pid
}
