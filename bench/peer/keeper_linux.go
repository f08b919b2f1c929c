package peer

import "syscall"

// endWithParent lets the system kill a process when the thread that started it ends.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
