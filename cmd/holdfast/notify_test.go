package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
)

// A name that begins with @ is a socket without a file.
func TestNotifyAbstractSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("abstract sockets are Linux's")
	}
	address := &net.UnixAddr{Name: fmt.Sprintf("@holdfast-notify-%d", os.Getpid()), Net: "unixgram"}
	manager, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if err := send(address.Name, "READY=1"); err != nil {
		t.Fatal(err)
	}
	told := make([]byte, 100)
	n, err := manager.Read(told)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(told[:n]); got != "READY=1" {
		t.Errorf("told %q", got)
	}
}

func TestNotifyWithoutManager(t *testing.T) {
	if err := send(t.TempDir()+"/nobody", "READY=1"); err == nil {
		t.Error("a socket that is not there took a datagram")
	}
}
