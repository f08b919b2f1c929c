// Package terraform serves the HTTP backend of Terraform and OpenTofu: states, and their locks, which are Holdfast
// locks.
//
//	states, err := terraform.OpenFolder(folder)
//	if err != nil {
//		return err
//	}
//	defer states.Close()
//	handler := http.StripPrefix("/states/", terraform.New(locks, states))
//	return http.Serve(listener, handler) // http://…/states/prod is the state prod
//
// The locks are those of any [holdfast.Locker]. A configuration uses the state prod with the backend's default methods:
//
//	terraform {
//	  backend "http" {
//	    address        = "http://localhost:8080/states/prod"
//	    lock_address   = "http://localhost:8080/states/prod"
//	    unlock_address = "http://localhost:8080/states/prod"
//	  }
//	}
//
// # Locks
//
// LOCK takes the lock terraform/NAME, with Terraform's lock info as its value, so that listings of locks show who
// plans or applies what. The lock is kept in the session of the handler's Locker, between the requests and for as long
// as that session lives. A second LOCK is answered with 423 and the info of the holder. A LOCK with the ID of the holder
// is a repeated one, and succeeds; so does a repeated UNLOCK.
//
// A write with ?ID= is done under the lock with that ID. After a loss of the lock it is refused with 409 and the reason,
// in plain text. A write without an ID (-lock=false) takes the lock for its own time, and is refused with 423 while
// another ID has it.
//
// UNLOCK with another ID than that of the holder is refused with 409 and the info of the holder. Force-unlock of
// OpenTofu sends the ID; that of Terraform sends no body, and releases the lock whichever ID it has.
//
// The requests about one state must go to the process that holds its lock. Several processes may serve the same states
// with the same locks: they exclude each other, but none can write under a lock of another, nor release it. When a
// process ends, its locks are released.
//
// # Stale writes
//
// [States] know the fencing token of each lock. LOCK makes the token known to them before it answers, and from then on
// they refuse what is written under an earlier lock: a handler that was paused, and goes on after its lock was lost,
// does not overwrite the state of the next holder. [Folder] keeps the states in files.
//
// # Access
//
// The handler does not authenticate. States contain secrets: put it behind TLS and the authentication of your server;
// the backend sends a user name and password.
//
// The files: handler.go has the requests, lock.go the locks, states.go the interface of a keeper of states, folder.go
// the one that keeps them in a folder.
package terraform
