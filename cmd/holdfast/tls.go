package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/pki"
)

// tlsCommand makes certificates.
func (p *program) tlsCommand() *cli.Command {
	return group("tls", "make certificates for a try-out of TLS", name+" tls init [flags]", p.tlsInitCommand())
}

func (p *program) tlsInitCommand() *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "make two authorities, and certificates of members and clients",
		UsageText: name + " tls init [--dir DIR] [--member NAME[=HOST,…]]… [--client NAME]… [--days N]",
		Description: "It makes one authority for members (members.pem) and one for clients (clients.pem), so that no client can\n" +
			"pass for a member, and a certificate NAME.pem with its key NAME-key.pem for each member and client. It prints\n" +
			"the commands that use them. A file is never overwritten: a second call uses the authorities that are there and\n" +
			"adds the members and clients that it names. A first call that names none makes member m1 and client c1.\n" +
			"The keys of the authorities, members-key.pem and clients-key.pem, are needed only to add certificates: a copy\n" +
			"of them can make members and clients, so keep them apart from the members.",
		Flags: []cli.Flag{
			textFlag("dir", "`DIR` of the files"),
			&cli.StringSliceFlag{Name: "member", Usage: "`NAME[=HOST,…]` of a member and its hosts, by default localhost, 127.0.0.1 and ::1; may be repeated"},
			&cli.StringSliceFlag{Name: "client", Usage: "`NAME` of a client; may be repeated"},
			&cli.IntFlag{Name: "days", Value: 365, Usage: "validity of the certificates in `DAYS`"},
		},
		DisableSliceFlagSeparator: true,
		Action:                    p.tlsInit,
	}
}

func (p *program) tlsInit(_ context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	r := pki.Request{Folder: c.String("dir"), Clients: c.StringSlice("client"), Days: c.Int("days"), Now: time.Now()}
	if r.Folder == "" {
		r.Folder = "tls"
	}
	for _, text := range c.StringSlice("member") {
		member, hosts, given := strings.Cut(text, "=")
		m := pki.Member{Name: member}
		if given {
			m.Hosts = strings.Split(hosts, ",")
		}
		r.Members = append(r.Members, m)
	}
	if len(r.Members)+len(r.Clients) == 0 {
		r.Members, r.Clients = []pki.Member{{Name: "m1"}}, []string{"c1"}
	}
	made, err := pki.Init(r)
	if err != nil {
		return misconfigured("tls init: %w", err)
	}
	return written(fmt.Fprint(p.stdout, tlsSummary(r, made)))
}

// tlsSummary says what was made, and how to use it.
func tlsSummary(r pki.Request, made []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Made in %s: %s, each with its key.\n", r.Folder, strings.Join(made, ", "))
	if slices.Contains(made, pki.Members) {
		fmt.Fprintf(&b, "Keep %s and %s apart from the members: they are needed only to add certificates.\n",
			pki.KeyFile(r.Folder, pki.Members), pki.KeyFile(r.Folder, pki.Clients))
	}
	addresses := tlsAddresses(r.Members)
	for i, m := range r.Members {
		fmt.Fprintf(&b, "\nMember %s:\n  %s serve --name %s --listen %s --http \"\"", m.Name, name, m.Name, addresses[i])
		if len(addresses) > 1 {
			fmt.Fprintf(&b, " --join %s --expect %d", strings.Join(addresses, ","), len(addresses))
		}
		fmt.Fprintf(&b, " --tls-cert %s --tls-key %s --tls-ca %s --tls-client-ca %s\n", pki.CertFile(r.Folder, m.Name),
			pki.KeyFile(r.Folder, m.Name), pki.CertFile(r.Folder, pki.Members), pki.CertFile(r.Folder, pki.Clients))
	}
	server := defaultServer
	if len(addresses) > 0 {
		server = strings.Join(addresses, ",")
	}
	for _, client := range r.Clients {
		fmt.Fprintf(&b, "\nClient %s:\n  %s status --server %s --tls-ca %s --tls-cert %s --tls-key %s\n", client, name, server,
			pki.CertFile(r.Folder, pki.Members), pki.CertFile(r.Folder, client), pki.KeyFile(r.Folder, client))
	}
	return b.String()
}

// tlsAddresses returns where members could listen: each at its first host, those of one host at different ports.
func tlsAddresses(members []pki.Member) (addresses []string) {
	port := map[string]int{}
	for _, m := range members {
		host := "127.0.0.1"
		if len(m.Hosts) > 0 {
			host = m.Hosts[0]
		}
		addresses = append(addresses, net.JoinHostPort(host, strconv.Itoa(4040+10*port[host])))
		port[host]++
	}
	return addresses
}
