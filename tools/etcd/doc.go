// Command etcd is the etcd server, built from its module, for tests:
//
//	go -C tools/etcd build -trimpath -o "$HOME/bin/etcd" .
//
// It has a module of its own, so that the many that it needs choose no version for the product.
// It is here because the server that Linux distributions have is years older than the client
// that package storage/etcd speaks through. Package internal/test/realstore builds it by itself.
package main
