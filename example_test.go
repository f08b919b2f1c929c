package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// open stands for client.Dial, node.Start or storelock.Open returns.
func open() holdfast.Locker { return newLocalLocker() }

// account is a resource that compares tokens: it refuses a caller that comes with an
// older one than it has seen.
type account struct {
	seen    holdfast.Token
	balance int
}

func (a *account) deposit(token holdfast.Token, amount int) error {
	if token < a.seen {
		return fmt.Errorf("write under token %v: %v was seen", token, a.seen)
	}
	a.seen = token
	a.balance += amount
	return nil
}

func Example() {
	ctx := context.Background()
	locks := open()
	defer locks.Close()

	lock, err := locks.Lock(ctx, "accounts/7")
	if err != nil {
		fmt.Println(err)
		return
	}
	var seven account
	if err := seven.deposit(lock.Token(), 100); err != nil {
		fmt.Println(err)
	}
	fmt.Println("balance", seven.balance)
	fmt.Println("unlock:", lock.Unlock(ctx))
	// Output:
	// balance 100
	// unlock: <nil>
}

// A holder that was paused wakes and writes. The lock cannot stop it, the token does.
func ExampleLock_Token() {
	ctx := context.Background()
	locks := newLocalLocker()
	var seven account

	paused, _ := locks.Lock(ctx, "accounts/7")
	locks.breakAll("accounts/7")
	next, _ := locks.Lock(ctx, "accounts/7")

	fmt.Println(seven.deposit(next.Token(), 100))
	fmt.Println(seven.deposit(paused.Token(), 5))
	// Output:
	// <nil>
	// write under token 1: 2 was seen
}

// Work that takes the lock's Context ends with the lock.
func ExampleLock_Context() {
	ctx := context.Background()
	locks := newLocalLocker()
	lock, _ := locks.Lock(ctx, "reports/daily")

	work, cancel := context.WithTimeout(lock.Context(), time.Hour)
	defer cancel()
	locks.breakAll("reports/daily")
	<-work.Done()

	cause := context.Cause(work)
	fmt.Println(cause)
	fmt.Println(errors.Is(cause, holdfast.ErrLost), holdfast.Why(cause) == holdfast.Broken)
	// Output:
	// lock "reports/daily": lost: broken
	// true true
}

// The function's context ends with the lock, and Do unlocks. A loss is its error.
func ExampleDo() {
	ctx := context.Background()
	locks := newLocalLocker()
	var seven account
	deposit := func(_ context.Context, lock *holdfast.Lock) error {
		return seven.deposit(lock.Token(), 100)
	}
	fmt.Println(holdfast.Do(ctx, locks, "accounts/7", deposit), seven.balance)

	err := holdfast.Do(ctx, locks, "accounts/7", func(ctx context.Context, _ *holdfast.Lock) error {
		locks.breakAll("accounts/7")
		<-ctx.Done()
		return ctx.Err()
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, holdfast.ErrLost), holdfast.Why(err) == holdfast.Broken)
	// Output:
	// <nil> 100
	// lock "accounts/7": lost: broken
	// true true
}

func ExampleLocker_tryLock() {
	ctx := context.Background()
	locks := open()
	lock, _ := locks.TryLock(ctx, "backup", holdfast.Owner("nightly"))
	_, err := locks.TryLock(ctx, "backup")
	fmt.Println(err)
	fmt.Println(errors.Is(err, holdfast.ErrHeld))
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// lock "backup": held by nightly
	// true
	// <nil>
}

func ExampleLocker_lockAll() {
	ctx := context.Background()
	locks := open()
	both, err := locks.LockAll(ctx, []string{"accounts/9", "accounts/7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, lock := range both {
		fmt.Println(lock.Name(), lock.Unlock(ctx))
	}
	// Output:
	// accounts/9 <nil>
	// accounts/7 <nil>
}

func ExampleMutex() {
	mutex := holdfast.NewMutex(open(), "counter")
	mutex.Lock()
	fmt.Println("token", mutex.Held().Token())
	mutex.Unlock()
	// Output: token 1
}

func ExampleRWMutex() {
	mutex := holdfast.NewRWMutex(open(), "catalogue")
	mutex.RLock()
	fmt.Println("another reader:", mutex.TryRLock())
	fmt.Println("a writer:", mutex.TryLock())
	mutex.RUnlock()
	mutex.RUnlock()
	// Output:
	// another reader: true
	// a writer: false
}

func ExampleParseToken() {
	token, err := holdfast.ParseToken("30064771075")
	fmt.Println(token, err)
	_, err = holdfast.ParseToken("0")
	fmt.Println(err)
	// Output:
	// 30064771075 <nil>
	// token "0": want a decimal number from 1 to 9223372036854775807
}
