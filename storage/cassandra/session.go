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

// connectLimit is how long making a connection may take, and each of its first requests.
const connectLimit = 2 * time.Second

// cluster makes of options what the client is configured with. Of what it does by default
// this keeps that it tries nothing again and sends nothing twice.
func (o *options) cluster() (*gocql.ClusterConfig, error) {
	c := gocql.NewCluster(o.hosts...)
	c.Port = defaultPort
	c.Consistency, c.SerialConsistency = o.levels()
	// Above the server's own limits, so that mostly the server says what became of a request.
	c.Timeout, c.ConnectTimeout = o.timeout, connectLimit
	// A node that comes back is asked again soon: the default is a minute. By default, too, one
	// that goes is called again at once, some times, by what sleeps on after Close.
	c.ReconnectInterval = time.Second
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1}
	// A lone request need not wait for company: it is four times as fast, and many at a time
	// are no slower.
	c.WriteCoalesceWaitTime = 0
	c.MaxWaitSchemaAgreement = agreementLimit
	// A slice is one read: pages would be several, between which the row changes.
	c.PageSize = 0
	c.Metadata.CacheMode = gocql.KeyspaceOnly
	if o.user != "" {
		c.Authenticator = gocql.PasswordAuthenticator{Username: o.user, Password: o.password}
	}
	next := gocql.RoundRobinHostPolicy()
	if o.center != "" {
		next = gocql.DCAwareRoundRobinPolicy(o.center)
	}
	// Any of a row's replicas may coordinate, so that one which is slow does not stop a row.
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(next, gocql.ShuffleReplicas())
	if o.local {
		// A local quorum is one of the data centre of whichever node is asked. So no node of
		// another one may be, ever: two quorums that have no node in common see two rows.
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

// secure makes the TLS of connections. Each node must show a certificate for the name or the
// address by which it is reached: mostly that is the address which the cluster tells of it.
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
	// Read for each connection, so that a renewed one is used from then on.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return config, nil
}

// refusals keeps why connections could not be made: the client itself tells only a text of it.
type refusals struct {
	mu  sync.Mutex
	err error
}

// ObserveConnect is called after each try.
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

// connect makes a session. It is left to end by itself where ctx ends first, which takes as
// long as connections may take.
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
		m.err = errors.Join(m.err, ctx.Err()) // its session was closed, then
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
