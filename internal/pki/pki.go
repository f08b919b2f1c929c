package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"slices"
	"time"
)

// The names of the authorities' files.
const (
	Members = "members"
	Clients = "clients"
)

const (
	day = 24 * time.Hour
	// authorityDays is the validity of an authority, unless its certificates are valid for longer.
	authorityDays = 3650
	// ahead is how far the clock of another machine may be behind.
	ahead     = time.Hour
	mostDays  = 36500
	mostBytes = 64 // of a name
)

// Member is a member that needs a certificate.
type Member struct {
	Name string
	// Hosts are the DNS names and IP addresses by which clients reach it. None means this machine: localhost,
	// 127.0.0.1, ::1.
	Hosts []string
}

// local are the hosts of a member that is given none.
func local() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// Request says what to make.
type Request struct {
	Folder  string // made if it does not exist, with mode 0700
	Members []Member
	Clients []string // their names
	Days    int      // the validity of the certificates, 1 to 36500
	Now     time.Time
}

// check returns what is wrong with a request.
func (r *Request) check() error {
	if r.Days < 1 || r.Days > mostDays {
		return fmt.Errorf("%d days: want 1 to %d", r.Days, mostDays)
	}
	seen := map[string]bool{Members: true, Clients: true}
	for _, name := range r.names() {
		if err := checkName(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("name %q is taken by another file of this call; give another one", name)
		}
		seen[name] = true
	}
	for _, m := range r.Members {
		if slices.Contains(m.Hosts, "") {
			return fmt.Errorf("member %s has an empty host; write NAME=HOST,HOST", m.Name)
		}
	}
	return nil
}

// names lists the names of members and clients.
func (r *Request) names() (all []string) {
	for _, m := range r.Members {
		all = append(all, m.Name)
	}
	return append(all, r.Clients...)
}

// checkName accepts names that a member may have, and that are files of their own.
func checkName(name string) error {
	bad := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	if name == "" || len(name) > mostBytes || name[0] == '.' || name[0] == '-' || slices.ContainsFunc([]rune(name), bad) {
		return fmt.Errorf("name %q: want 1 to %d of the characters A-Z a-z 0-9 . _ -, the first one no dot and no dash", name, mostBytes)
	}
	return nil
}

// Init makes the authorities of a folder, unless they are there, and certificates for the members and clients. It
// returns the names of the pairs that it has made. It makes nothing if one of their files exists.
func Init(r Request) (made []string, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Folder, 0o700); err != nil {
		return nil, err
	}
	for _, name := range r.names() {
		if err := absent(r.Folder, name); err != nil {
			return nil, err
		}
	}
	keep := func(p *pair, name string) error {
		if err := p.write(r.Folder, name); err != nil {
			return err
		}
		made = append(made, name)
		return nil
	}
	authorities := map[string]*pair{}
	for _, name := range []string{Members, Clients} {
		known, err := load(r.Folder, name)
		if err == nil && known == nil {
			if known, err = r.authority(name); err == nil {
				err = keep(known, name)
			}
		}
		if err == nil && r.Now.Add(day).After(known.leaf.NotAfter) {
			err = fmt.Errorf("the authority %s ends at %s; give another --dir", CertFile(r.Folder, name), known.leaf.NotAfter.UTC().Format(time.RFC3339))
		}
		if err != nil {
			return made, err
		}
		authorities[name] = known
	}
	for _, m := range r.Members {
		p, err := r.member(authorities[Members], m)
		if err == nil {
			err = keep(p, m.Name)
		}
		if err != nil {
			return made, err
		}
	}
	for _, name := range r.Clients {
		p, err := r.sign(authorities[Clients], name, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, nil)
		if err == nil {
			err = keep(p, name)
		}
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// begin makes a key, and the common part of all certificates.
func (r *Request) begin(name string, days int) (*ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key for %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, fmt.Errorf("draw a serial number: %w", err)
	}
	return key, &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: r.Now.Add(-ahead), NotAfter: r.Now.Add(time.Duration(days) * day),
	}, nil
}

// authority makes an authority that signs for the usages of its kind alone.
func (r *Request) authority(name string) (*pair, error) {
	key, template, err := r.begin("Holdfast "+name, max(r.Days, authorityDays))
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if name == Members {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	return finish(template, &pair{template, key}, key)
}

// member makes a member's certificate.
func (r *Request) member(by *pair, m Member) (*pair, error) {
	hosts := m.Hosts
	if len(hosts) == 0 {
		hosts = local()
	}
	return r.sign(by, m.Name, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, append([]string{m.Name}, hosts...))
}

// sign makes a certificate for a name.
func (r *Request) sign(by *pair, name string, usages []x509.ExtKeyUsage, hosts []string) (*pair, error) {
	key, template, err := r.begin(name, r.Days)
	if err != nil {
		return nil, err
	}
	if template.NotAfter.After(by.leaf.NotAfter) {
		template.NotAfter = by.leaf.NotAfter
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, usages
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if !slices.Contains(template.DNSNames, host) {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return finish(template, by, key)
}

// finish signs a template.
func finish(template *x509.Certificate, by *pair, key *ecdsa.PrivateKey) (*pair, error) {
	name := template.Subject.CommonName
	der, err := x509.CreateCertificate(rand.Reader, template, by.leaf, &key.PublicKey, by.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %q: %w", name, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate for %q: %w", name, err)
	}
	return &pair{leaf, key}, nil
}
