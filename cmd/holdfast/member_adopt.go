package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
)

// adopt adopts the cluster's spaces, if this member is a guest that defines none. Meanwhile its ports report why it
// serves nothing.
func (m *member) adopt(ctx context.Context, config host.Config) (host.Config, error) {
	if !m.settings.Adopts() {
		return config, nil
	}
	var why atomic.Value
	config.Unanswered = func(err error) {
		why.Store(fmt.Sprintf("this guest does not know which spaces its cluster has, and serves none: %v; start one of these members, or give other addresses with --join", err))
	}
	config.Unanswered(fmt.Errorf("no member has answered yet: %s: still asking", strings.Join(config.Join, ", ")))
	limits := m.settings.Limits
	waiting, err := server.NewWaiting(server.WaitingConfig{
		Why: func() string { return why.Load().(string) },
		Identity: func() server.Identity {
			return server.Identity{Member: &schema.Member{Name: config.Name, Address: config.Address, Http: config.HTTP}}
		},
		Limits: server.Limits{Connections: limits.Connections}, Hosts: m.settings.Hosts, Certificates: m.identities, Logger: m.log,
	})
	if err != nil {
		return config, err
	}
	for _, l := range []net.Listener{m.grpc, m.socket} {
		if l != nil {
			err = errors.Join(err, waiting.AnswerGRPC(l))
		}
	}
	if m.web != nil {
		err = errors.Join(err, waiting.AnswerHTTP(m.web))
	}
	if err == nil {
		m.logListening(config.Name)
		config, err = host.Adopt(ctx, config)
		if err != nil && ctx.Err() == nil {
			err = misconfigured("serve: %w", err)
		}
	}
	shutdown, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	return config, errors.Join(err, waiting.Shutdown(shutdown))
}
