package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
)

// A client connects to three members. It goes on at another one when a member is lost.
func ExampleDial() {
	ctx := context.Background()
	locks, err := client.Dial(ctx, "holdfast://10.0.0.1:4040,10.0.0.2:4040,10.0.0.3:4040", client.Name("billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	lock, err := locks.Lock(ctx, "invoices/7", holdfast.Wait(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("token:", lock.Token())
	if err := lock.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
}

// An operator takes a lock from its holder, which stops before the next client is granted the name.
func ExampleAdmin_Break() {
	ctx := context.Background()
	admin, err := client.DialAdmin("localhost:4040")
	if err != nil {
		log.Fatal(err)
	}
	defer admin.Close()
	broken, err := admin.Break(ctx, "default", "invoices/7", 0, "the job hangs", "ops")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(broken)
}
