// Package issuer makes throw-away certificate authorities and certificates, for tests, the bench and trials of mutual
// TLS on one machine.
//
//	members, err := issuer.New("members")
//	m1, err := members.Issue(issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
//	files, err := m1.Write(folder, "m1") // m1.pem, m1-key.pem
//	ca, err := members.Write(folder, "members") // members.pem
//
// The keys are ECDSA on P-256. An authority's own key is never written anywhere: when the process that made it ends,
// nothing more can be signed with it. Certificates are valid for a day unless the request says otherwise.
package issuer
