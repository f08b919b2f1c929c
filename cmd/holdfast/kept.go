package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// A script that acquires a name, and then wants it again, waits for itself: the keeper of the first acquire keeps the
// lock as long as the script lives. It may have another process that releases the lock, so the second request is not
// refused. But standard error says what it waits for.

// keeps is the keeper's argument with the public id of its session, by which later commands of the caller find it.
const keeps = "--keeps="

// publicID returns a session without its secret.
func publicID(session string) string {
	id, _, _ := strings.Cut(session, ".")
	return id
}

// keptFor returns the sessions that keepers keep for a process, if the system lists the arguments of processes.
func keptFor(pid int) (sessions []string) {
	for _, arguments := range argumentsOfProcesses() {
		if len(arguments) < 2 || arguments[1] != "keeper" || !slices.Contains(arguments, whilePID+strconv.Itoa(pid)) {
			continue
		}
		for _, argument := range arguments {
			if session, is := strings.CutPrefix(argument, keeps); is {
				sessions = append(sessions, session)
			}
		}
	}
	return sessions
}

// sayKept reports which of the names are kept for a process, the caller, by an earlier acquire. If the member does not
// answer, the request for the lock will report the error.
func (p *program) sayKept(ctx context.Context, w *request, admin *client.Admin, space string, pid int) {
	sessions := keptFor(pid)
	if len(sessions) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, lock := range w.names {
		shown, err := admin.Show(ctx, space, lock)
		if err != nil {
			return
		}
		if w.ownParent(sessions, shown) != nil {
			p.say("%s", keptSentence(shown, pid))
		}
	}
}

func keptSentence(shown *schema.Lock, pid int) string {
	return "lock " + strconv.Quote(shown.Name) + " is held by an earlier acquire for process " + strconv.Itoa(pid) +
		", which has started this command; it is kept while that process lives: give it back with '" + name + " release' first"
}
