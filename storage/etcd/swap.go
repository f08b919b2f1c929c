package etcd

import (
	"context"
	"errors"
	"fmt"

	etcdserverpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/gather"
)

// lanes is the maximum number of concurrent transactions with swaps.
const lanes = 4

// Swap replaces a column if it has the expected value, in one transaction with other waiting swaps.
func (s *Store) Swap(ctx context.Context, swap *storage.Swap) (storage.Swapped, error) {
	if err := swap.Check(); err != nil {
		return storage.Swapped{}, fmt.Errorf("swap etcd: %w", err)
	}
	return s.swaps.Swap(ctx, swap)
}

// parts returns the comparison, the write if it holds, and the read if it does not.
func (s *Store) parts(swap *storage.Swap) (expected clientv3.Cmp, put, get clientv3.Op) {
	key := s.config.row(swap.Key) + swap.Column
	expected = clientv3.Compare(clientv3.Value(key), "=", noStamp+swap.Old)
	if swap.Absent {
		expected = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	}
	return expected, clientv3.OpPut(key, noStamp+swap.New), clientv3.OpGet(key)
}

// found returns a swap's result.
func found(swap *storage.Swap, done bool, responses []*etcdserverpb.ResponseOp) (swapped storage.Swapped, err error) {
	if swapped.Done = done; done {
		return swapped, nil
	}
	for _, kv := range responses[0].GetResponseRange().GetKvs() {
		if len(kv.Value) < stampBytes {
			return storage.Swapped{}, fmt.Errorf("row %q has a value of %d bytes that this driver has not written: %w", swap.Key, len(kv.Value), storage.ErrInvalid)
		}
		swapped.Present, swapped.Value = true, string(kv.Value[stampBytes:])
	}
	return swapped, nil
}

// swapOne is a transaction that reads the column if it has another value.
func (s *Store) swapOne(ctx context.Context, swap *storage.Swap) (swapped storage.Swapped, err error) {
	expected, put, get := s.parts(swap)
	err = s.try(ctx, "swap etcd", func(ctx context.Context) error {
		done, err := s.client.Txn(ctx).If(expected).Then(put).Else(get).Commit()
		if err != nil {
			return err
		}
		swapped, err = found(swap, done.Succeeded, done.Responses)
		return err
	}, true)
	if err != nil {
		return storage.Swapped{}, err
	}
	return swapped, nil
}

// swapMany is one transaction with a nested one for each swap, each with its own comparison. An error applies to all:
// etcd has done everything or nothing.
func (s *Store) swapMany(swaps []*storage.Swap) []gather.Answer {
	operations := make([]clientv3.Op, len(swaps))
	for i, swap := range swaps {
		expected, put, get := s.parts(swap)
		operations[i] = clientv3.OpTxn([]clientv3.Cmp{expected}, []clientv3.Op{put}, []clientv3.Op{get})
	}
	answers := make([]gather.Answer, len(swaps))
	err := s.try(context.Background(), "swap etcd", func(ctx context.Context) error {
		done, err := s.client.Txn(ctx).Then(operations...).Commit()
		if err != nil {
			return err
		}
		for i, swap := range swaps {
			inside := done.Responses[i].GetResponseTxn()
			answers[i].Swapped, answers[i].Err = found(swap, inside.Succeeded, inside.Responses)
		}
		return nil
	}, true)
	switch {
	case err == nil:
		return answers
	case errors.Is(err, storage.ErrInvalid):
		// One of them may be too large, or not permitted.
		return gather.Apart(context.Background(), swaps, s.swapOne)
	}
	return gather.Failed(len(swaps), err)
}
