package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// startMember starts a member in this process, as `holdfast serve --memory` would be one, and returns its address.
func startMember() (address string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	state, err := os.MkdirTemp("", "member")
	if err != nil {
		log.Fatal(err)
	}
	_, end, err := startServed(context.Background(), host.Config{State: state, Serves: true, Spaces: spacesOf("central")}, l, nil)
	if err != nil {
		log.Fatal(err)
	}
	return l.Addr().String(), func() {
		if err := errors.Join(end(), os.RemoveAll(state)); err != nil {
			log.Print(err)
		}
	}
}

// A client connects to a member, or to one of several: "holdfast://10.0.0.1:4040,10.0.0.2:4040,10.0.0.3:4040".
func ExampleDial() {
	address, stop := startMember()
	defer stop()
	ctx := context.Background()

	locks, err := client.Dial(ctx, "holdfast://"+address, client.Name("billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	lock, err := locks.Lock(ctx, "invoices/7", holdfast.Wait(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", lock.Context().Err() == nil, "with a token:", lock.Token() > 0)
	fmt.Println("unlock:", lock.Unlock(ctx))
	// Output:
	// held: true with a token: true
	// unlock: <nil>
}

// An operator takes a lock from its holder, which stops before the next client is granted the name.
func ExampleAdmin_Break() {
	address, stop := startMember()
	defer stop()
	ctx := context.Background()
	locks, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	lock, err := locks.Lock(ctx, "invoices/7")
	if err != nil {
		log.Fatal(err)
	}

	admin, err := client.DialAdmin(address)
	if err != nil {
		log.Fatal(err)
	}
	defer admin.Close()
	broken, err := admin.Break(ctx, "default", "invoices/7", lock.Token(), "the job hangs", "ops")
	fmt.Println("broken:", len(broken.GetBroken()), err)
	<-lock.Context().Done()
	cause := context.Cause(lock.Context())
	fmt.Println("lost:", errors.Is(cause, holdfast.ErrLost), "broken:", holdfast.Why(cause) == holdfast.Broken)
	// Output:
	// broken: 1 <nil>
	// lost: true broken: true
}
