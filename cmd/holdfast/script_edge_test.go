package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptHalfRequest keeps a connection busy until the end of the script. It returns
// when the server has read the first half: it answers "Expect: 100-continue" then.
func scriptHalfRequest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: half-request")
	}
	address := strings.TrimPrefix(ts.Getenv("HTTP"), "http://")
	conn, err := net.Dial("tcp", address)
	ts.Check(err)
	ts.Defer(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /v1/spaces/default/acquire HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n", address)
	ts.Check(err)
	_, err = conn.Read(make([]byte, 1))
	ts.Check(err)
}

// notifySocket is the socket of a service manager.
type notifySocket struct{ *net.UnixConn }

// scriptNotified is called twice: see TestScript.
func scriptNotified(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: notified")
	}
	b := backgroundOf(ts)
	if b.notified == nil {
		// The path of a socket may have 107 bytes, and a script's folder may have more.
		folder, err := os.MkdirTemp("", "n")
		ts.Check(err)
		ts.Defer(func() { os.RemoveAll(folder) })
		path := filepath.Join(folder, "s")
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		ts.Check(err)
		ts.Defer(func() { conn.Close() })
		b.notified = &notifySocket{conn}
		ts.Setenv("NOTIFY_SOCKET", path)
		return
	}
	// Everything has been sent, so everything is there: an end is added to it.
	end, err := net.Dial("unixgram", ts.Getenv("NOTIFY_SOCKET"))
	ts.Check(err)
	defer end.Close()
	_, err = end.Write([]byte("end"))
	ts.Check(err)
	for datagram := make([]byte, 100); ; {
		n, err := b.notified.Read(datagram)
		ts.Check(err)
		if string(datagram[:n]) == "end" {
			return
		}
		fmt.Fprintln(ts.Stdout(), string(datagram[:n]))
	}
}

// scriptCertificates makes an authority, and what it has signed.
func scriptCertificates(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: certificates")
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	write := func(file, kind string, data []byte, err error) {
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
	}
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	write("ca.pem", "CERTIFICATE", signed, err)
	for i, who := range []string{"server", "client"} {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		var names []string
		usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		if who == "server" {
			names = []string{"a", "b", "g"} // the members of the scripts that use it
			usages = append(usages, x509.ExtKeyUsageServerAuth)
		}
		signed, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), Subject: pkix.Name{CommonName: who},
			NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: names,
			ExtKeyUsage: usages,
		}, authority, &own.PublicKey, key)
		write(who+".pem", "CERTIFICATE", signed, err)
		secret, err := x509.MarshalPKCS8PrivateKey(own)
		write(who+".key", "PRIVATE KEY", secret, err)
	}
}
