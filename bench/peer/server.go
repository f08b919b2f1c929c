package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load/target"
)

// server is a server under its keeper.
type server struct {
	name    string
	process int // the server's own process id
	keeper  *exec.Cmd
	leash   io.WriteCloser
	events  chan told // closed at the end of the keeper's output
	ended   chan struct{}
	err     error // the keeper's, once ended
	log     target.LogTail
}

// startServer starts a keeper with a plan, and waits until the server is ready.
func startServer(ctx context.Context, command []string, plan Plan) (*server, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("write the plan of %s: %w", plan.Name, err)
	}
	s := &server{name: plan.Name, events: make(chan told, 4), ended: make(chan struct{})}
	s.keeper = exec.Command(command[0], append(slices.Clone(command[1:]), string(text))...)
	s.keeper.Stderr = &s.log
	// In its own process group: an interrupt typed at the terminal is for the bench, which then ends the others.
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := s.keeper.StdoutPipe()
	if err == nil {
		s.leash, err = s.keeper.StdinPipe()
	}
	if err == nil {
		err = s.keeper.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the keeper of %s: %w", plan.Name, err)
	}
	go s.listenTo(said)
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) listenTo(said io.Reader) {
	for lines := bufio.NewScanner(said); lines.Scan(); {
		var event told
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			event = told{Event: "failed", Why: fmt.Sprintf("its keeper says %q", lines.Text())}
		}
		select {
		case s.events <- event:
		default: // unexpected further messages without a reader
		}
	}
	close(s.events)
	s.err = s.keeper.Wait()
	close(s.ended)
}

func (s *server) awaitReady(ctx context.Context) error {
	for {
		select {
		case event, more := <-s.events:
			switch {
			case !more:
				<-s.ended // so its last output has come
				return fmt.Errorf("wait until %s serves: its keeper has ended: %v", s.name, &s.log)
			case event.Event == "started":
				s.process = event.Process
			case event.Event == "ready":
				return nil
			default:
				s.awaitWords(ctx)
				return fmt.Errorf("wait until %s serves: %s; it says: %v", s.name, event.Why, &s.log)
			}
		case <-ctx.Done():
			return fmt.Errorf("wait until %s serves: %w; it says: %v", s.name, context.Cause(ctx), &s.log)
		}
	}
}

// awaitWords waits for the last output of a keeper that is ending.
func (s *server) awaitWords(ctx context.Context) {
	select {
	case <-s.ended:
	case <-ctx.Done():
	}
}

// stopLimit is the time limit for a keeper to end its server and to remove its folder.
const stopLimit = orderLimit + removeTries*removePause + 5*time.Second

// stop ends the server. It must have been started.
func (s *server) stop() error {
	_ = s.leash.Close() // closing twice is harmless
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		_ = s.keeper.Process.Kill() // it may have ended just now
		<-s.ended
	}
	if s.err != nil {
		return fmt.Errorf("end %s: %w: %v", s.name, s.err, &s.log)
	}
	return nil
}
