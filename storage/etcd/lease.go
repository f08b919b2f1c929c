package etcd

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// longest is the TTL, in seconds, from which on a column is kept for good: 31 years, and a
// tenth of what etcd takes.
const longest = 1_000_000_000

// leases are those that columns share.
type leases struct {
	client *clientv3.Client
	mu     sync.Mutex
	byTTL  map[int64]*lease // by the seconds that it is good for
}

// lease is one of them.
type lease struct {
	granted sync.Mutex // held while it is being granted
	id      clientv3.LeaseID
	until   time.Time // when it is too old for another column
}

// class rounds a TTL up to seconds of which only the first three bits count: a quarter more at
// most. So all columns have few leases. Zero means that the column stays.
func class(ttl time.Duration) int64 {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	if ttl <= 0 || seconds <= 0 || seconds > longest {
		return 0
	}
	step := int64(1) << max(0, bits.Len64(uint64(seconds))-3)
	return (seconds + step - 1) / step * step
}

// share is for how many seconds columns share a lease.
func share(class int64) int64 { return max(1, class/4) }

// of returns a lease that lasts for at least the TTL, and zero where columns stay.
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

// forget makes sure that a lease is not used any more that the server does not know.
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
