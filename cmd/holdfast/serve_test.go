package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

// A signal to a process and then to its group, as by timeout(1), is one request.
func TestSameSignalAgainIsOneRequest(t *testing.T) {
	for _, tt := range []struct {
		name   string
		later  []os.Signal // after the first TERM, at once
		waited bool        // sameWish has passed before them
		want   os.Signal   // the one that counts as the second
	}{
		{"again at once, then another", []os.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGINT}, false, syscall.SIGINT},
		{"again a second later", []os.Signal{syscall.SIGTERM}, true, syscall.SIGTERM},
		{"another at once", []os.Signal{syscall.SIGINT}, false, syscall.SIGINT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			manual := clocktest.NewManual()
			arrived := make(chan os.Signal, 4)
			over := make(chan struct{})
			defer close(over)
			first, second := make(chan os.Signal, 1), make(chan os.Signal, 1)
			go heedEnd(arrived, over, manual, func(sig os.Signal) { first <- sig }, func(sig os.Signal) { second <- sig })
			arrived <- syscall.SIGTERM
			if got := <-first; got != syscall.SIGTERM {
				t.Fatalf("first: %v", got)
			}
			if tt.waited {
				manual.Advance(sameRequest)
			}
			for _, sig := range tt.later {
				arrived <- sig
			}
			if got := <-second; got != tt.want {
				t.Errorf("second: %v, want %v", got, tt.want)
			}
		})
	}
}
