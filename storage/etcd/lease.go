package etcd

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// longest is the TTL, in seconds, from which a column is kept permanently: 31 years, and a tenth of etcd's maximum.
const longest = 1_000_000_000

// leases are the leases that columns share.
type leases struct {
	client *clientv3.Client
	mu     sync.Mutex
	byTTL  map[int64]*lease // by their class, in seconds
}

// lease is one of them.
type lease struct {
	granted sync.Mutex // held while it is being granted
	id      clientv3.LeaseID
	until   time.Time // when it is too old for another column
}

// class rounds a TTL up to seconds of which only the first three bits are significant: at most a quarter more. This
// keeps the number of leases small. Zero means that the column stays.
func class(ttl time.Duration) int64 {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	if ttl <= 0 || seconds <= 0 || seconds > longest {
		return 0
	}
	step := int64(1) << max(0, bits.Len64(uint64(seconds))-3)
	return (seconds + step - 1) / step * step
}

// share returns for how many seconds columns share a lease.
func share(class int64) int64 { return max(1, class/4) }

// of returns a lease that lasts for at least the TTL, and zero for columns that stay.
func (l *leases) of(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	class := class(ttl)
	if class == 0 {
		return clientv3.NoLease, nil
	}
	l.mu.Lock()
	one := l.byTTL[class]
	if one == nil {
		one = &lease{}
		l.byTTL[class] = one
	}
	l.mu.Unlock()
	one.granted.Lock()
	defer one.granted.Unlock()
	now := time.Now()
	if one.id != clientv3.NoLease && now.Before(one.until) {
		return one.id, nil
	}
	granted, err := l.client.Grant(ctx, class+share(class)+1)
	if err != nil {
		return clientv3.NoLease, fmt.Errorf("grant a lease: %w", err)
	}
	one.id, one.until = granted.ID, now.Add(time.Duration(share(class))*time.Second)
	return one.id, nil
}

// forget stops the use of a lease that the server does not know.
func (l *leases) forget(ttl time.Duration, id clientv3.LeaseID) {
	l.mu.Lock()
	one := l.byTTL[class(ttl)]
	l.mu.Unlock()
	if one == nil {
		return
	}
	one.granted.Lock()
	defer one.granted.Unlock()
	if one.id == id {
		one.id = clientv3.NoLease
	}
}
