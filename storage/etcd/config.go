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

// A connection on which nothing comes is asked after the one time, and lost after the other.
// Servers as they ship take it amiss to be asked more often than every 5 s.
const (
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 3 * time.Second
)

// config is what a URL says.
type config struct {
	client  clientv3.Config
	prefix  string
	timeout time.Duration
}

// parseURL reads a URL.
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
		MaxUnaryRetries: uint(l.Int("retries", 1, 0, mostRetries)) + 1, // it counts the first try
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

// named are credentials for servers of one name. The client asks each for a certificate for the host that it
// dials, regardless of its configuration.
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

// failFast has a request that finds no connection fail with why there is none, and so known to
// be not done. As shipped it waits until it is too late, and says no more than that.
func failFast(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return invoke(ctx, method, request, reply, connection, append(options, grpc.WaitForReady(false))...)
}

// pauses are those before a member is connected to again.
func pauses() backoff.Config {
	config := backoff.DefaultConfig
	config.BaseDelay, config.MaxDelay = 50*time.Millisecond, 2*time.Second
	return config
}

// row is what the keys of a row begin with.
func (c *config) row(key string) string {
	return string(binary.BigEndian.AppendUint16([]byte(c.prefix), uint16(len(key)))) + key
}
