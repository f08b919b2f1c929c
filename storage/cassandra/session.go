package cassandra

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// connectLimit is the time limit for making a connection, and for each of its first requests.
const connectLimit = 2 * time.Second

// cluster returns the client's configuration. It relies on the client's defaults not to retry and not to send a request
// twice.
func (o *options) cluster() (*gocql.ClusterConfig, error) {
	c := gocql.NewCluster(o.hosts...)
	c.Port = defaultPort
	c.Consistency, c.SerialConsistency = o.levels()
	// Above the server's own limits, so that usually the server reports a request's outcome.
	c.Timeout, c.ConnectTimeout = o.timeout, connectLimit
	// Reconnect soon to a node that comes back: the default is a minute. By default the client also calls a node that
	// goes down several times at once, from goroutines that sleep on after Close.
	c.ReconnectInterval = time.Second
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1}
	// Do not delay a lone request to coalesce it: that is four times as fast, and many concurrent ones are no slower.
	c.WriteCoalesceWaitTime = 0
	c.MaxWaitSchemaAgreement = agreementLimit
	// A slice is one read: with pages the row could change between them.
	c.PageSize = 0
	c.Metadata.CacheMode = gocql.KeyspaceOnly
	if o.user != "" {
		c.Authenticator = gocql.PasswordAuthenticator{Username: o.user, Password: o.password}
	}
	next := gocql.RoundRobinHostPolicy()
	if o.center != "" {
		next = gocql.DCAwareRoundRobinPolicy(o.center)
	}
	// Any of a row's replicas may coordinate, so that a slow one does not stop a row.
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(next, gocql.ShuffleReplicas())
	if o.local {
		// A local quorum is one in the coordinator's data centre. A node of another data centre must therefore never
		// coordinate: two quorums without a common node see two rows.
		c.HostFilter = gocql.DataCenterHostFilter(o.center)
	}
	if o.tls {
		config, err := o.secure()
		if err != nil {
			return nil, err
		}
		c.SslOpts = &gocql.SslOptions{Config: config, EnableHostVerification: true}
	}
	return c, nil
}

// secure returns the TLS configuration of connections. Each node must show a certificate for the name or the address by
// which it is reached: usually the address in the cluster's node list.
func (o *options) secure() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.server}
	if o.ca != "" {
		text, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, fmt.Errorf("read the authorities of Cassandra's nodes: %w: %w", err, storage.ErrInvalid)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read the authorities of Cassandra's nodes: no certificate in %s; want some in PEM: %w", o.ca, storage.ErrInvalid)
		}
	}
	if o.cert == "" {
		return config, nil
	}
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate for Cassandra: %w", err)
		}
		return &pair, nil
	}
	if _, err := load(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, storage.ErrInvalid)
	}
	// Read for each connection, so that a renewed certificate takes effect.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return config, nil
}

// refusals keeps the errors of failed connections: the client itself returns only their text.
type refusals struct {
	mu  sync.Mutex
	err error
}

// ObserveConnect is called after each attempt.
func (r *refusals) ObserveConnect(tried gocql.ObservedConnect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = tried.Err
}

func (r *refusals) last() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// connect opens a session. If ctx ends first, the session ends in the background, after at most the connection limit.
func connect(ctx context.Context, o *options) (*gocql.Session, error) {
	cluster, err := o.cluster()
	if err != nil {
		return nil, err
	}
	tried := &refusals{}
	cluster.ConnectObserver = tried
	type made struct {
		session *gocql.Session
		err     error
	}
	done := make(chan made, 1)
	go func() {
		session, err := cluster.CreateSession()
		if ctx.Err() != nil && session != nil {
			session.Close()
		}
		done <- made{session, err}
	}()
	var m made
	select {
	case m = <-done:
		m.err = errors.Join(m.err, ctx.Err()) // its session was closed in that case
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to %q: %w: %w", o.hosts, ctx.Err(), storage.ErrRefused)
	}
	if m.err == nil {
		return m.session, nil
	}
	kind := storage.ErrRefused
	var credentials *gocql.RequestErrCredentials
	if errors.As(tried.last(), &credentials) {
		kind = storage.ErrInvalid
	}
	return nil, fmt.Errorf("connect to %q: %w: %w", o.hosts, m.err, kind)
}
