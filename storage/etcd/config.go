package etcd

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/holdfast-locks/holdfast/storage/internal/location"
)

const (
	usualPort    = "2379"
	usualPrefix  = "holdfast"
	usualTimeout = 5 * time.Second
	mostRetries  = 100
)

// The idle time after which a connection is pinged, and the time without an answer after which it counts as lost.
// Servers by default reject pings more often than every 5 s.
const (
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 3 * time.Second
)

// config is the settings from a URL.
type config struct {
	client  clientv3.Config
	prefix  string
	timeout time.Duration
}

// parseURL parses a URL.
func parseURL(url string) (*config, error) {
	l, err := location.Parse(url, usualPort, "etcd", "etcds")
	if err != nil {
		return nil, err
	}
	c := &config{prefix: strings.Trim(l.Path, "/"), timeout: l.Duration("timeout", usualTimeout, time.Millisecond)}
	if c.prefix == "" {
		c.prefix = usualPrefix
	}
	c.prefix += "/"
	scheme := "http://"
	c.client = clientv3.Config{
		Username: l.User, Password: l.Password, DialTimeout: c.timeout,
		DialKeepAliveTime: keepAliveTime, DialKeepAliveTimeout: keepAliveTimeout,
		MaxUnaryRetries: uint(l.Int("retries", 1, 0, mostRetries)) + 1, // it counts the first attempt
		Logger:          zap.NewNop(),                                  // errors are returned
		DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(failFast),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses(), MinConnectTimeout: c.timeout}),
		},
	}
	if encrypted := l.Flag("tls"); encrypted || l.Scheme == "etcds" {
		scheme, c.client.TLS = "https://", l.TLS()
		if name := c.client.TLS.ServerName; name != "" {
			c.client.DialOptions = append(c.client.DialOptions, grpc.WithTransportCredentials(named{credentials.NewTLS(c.client.TLS), name}))
		}
	}
	for _, host := range l.Hosts {
		c.client.Endpoints = append(c.client.Endpoints, scheme+host)
	}
	return c, l.Err()
}

// named are credentials for servers of one name. The client asks each for a certificate for the host that it dials,
// regardless of its configuration.
type named struct {
	credentials.TransportCredentials
	name string
}

func (n named) ClientHandshake(ctx context.Context, _ string, connection net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return n.TransportCredentials.ClientHandshake(ctx, n.name, connection)
}

func (n named) Clone() credentials.TransportCredentials {
	return named{n.TransportCredentials.Clone(), n.name}
}

// failFast makes a request that finds no connection fail with the reason, and so known to have no effect. By default it
// waits until its deadline, and reports only that.
func failFast(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return invoke(ctx, method, request, reply, connection, append(options, grpc.WaitForReady(false))...)
}

// pauses returns the pauses before reconnections to a member.
func pauses() backoff.Config {
	config := backoff.DefaultConfig
	config.BaseDelay, config.MaxDelay = 50*time.Millisecond, 2*time.Second
	return config
}

// row returns the key prefix of a row.
func (c *config) row(key string) string {
	return string(binary.BigEndian.AppendUint16([]byte(c.prefix), uint16(len(key)))) + key
}
