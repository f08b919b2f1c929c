package main

import (
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify informs the service manager that started the process of its state, as sd_notify(3) does: on the socket in
// NOTIFY_SOCKET.
func notify(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("cannot notify the service manager", "state", state, "error", err)
	}
}
