package main

import (
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify tells the service manager that started the process how it is, as sd_notify(3)
// does: on the socket that NOTIFY_SOCKET names.
func notify(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("notifying the service manager failed", "state", state, "error", err)
	}
}
