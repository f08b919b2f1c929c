package grpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Bounds of the deadline that another member may announce. With a shorter one its receiver would do nothing but
// confirm.
const (
	shortestDeadline = 4 * time.Millisecond
	longestDeadline  = time.Minute
)

// greeting is a process's information about itself.
type greeting struct {
	transport.Identity
	process  uint64
	dialled  string
	deadline time.Duration
	policy   string // digest of its access policy; "" if it does not say
}

// known is a member that has been met.
type known struct {
	greeting                        // of its newest process
	link     *peer                  // the peer that has a link to it, or nil
	streams  map[*incoming]struct{} // from it
}

// live reports whether the process is connected, as far as this one can tell.
func (k *known) live() bool { return k.link != nil || len(k.streams) > 0 }

// hello returns this member's hello to the process at an address.
func (t *Transport) hello(address string) *schema.MemberHello {
	self := t.identity()
	return &schema.MemberHello{
		Version: transport.Version, Id: uint64(self.ID), Incarnation: self.Incarnation, Cluster: self.Cluster,
		Name: self.Name, Address: self.Address, Process: t.process, Dialled: address,
		Deadline: int64(t.config.Deadline), Policy: t.policy(),
	}
}

// policy returns the digest of this member's access policy.
func (t *Transport) policy() string {
	if t.config.Policy == nil {
		return ""
	}
	return t.config.Policy()
}

// learnPolicy notes the policy of the member at the other end of a link.
func (t *Transport) learnPolicy(l *link, policy string) {
	if policy == l.peer.policy || len(policy) > nameBytes {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l.peer.policy = policy
	if k := t.known[l.peer.ID]; k != nil && k.process == l.peer.process {
		k.policy = policy
	}
}

// Policies returns the digests of the access policies of the connected members, by id; without those that do not say.
func (t *Transport) Policies() map[protocol.ID]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	policies := map[protocol.ID]string{}
	for id, k := range t.known {
		if k.live() && k.policy != "" {
			policies[id] = k.policy
		}
	}
	return policies
}

// read checks a hello by itself.
func (t *Transport) read(hello *schema.MemberHello) (greeting, error) {
	if hello == nil {
		return greeting{}, t.count(transport.NoHello, status.Error(codes.InvalidArgument, "a stream begins with a hello"))
	}
	id := protocol.ID(hello.GetId())
	g := greeting{
		Identity: transport.Identity{
			ID: id, Incarnation: hello.GetIncarnation(), Cluster: hello.GetCluster(),
			Name: hello.GetName(), Address: hello.GetAddress(),
		},
		process: hello.GetProcess(), dialled: hello.GetDialled(), policy: hello.GetPolicy(),
		deadline: min(max(time.Duration(hello.GetDeadline()), shortestDeadline), longestDeadline),
	}
	if hello.GetVersion() != transport.Version {
		return g, &transport.Refusal{
			What: transport.OtherVersion, Who: quoted(g), Ours: fmt.Sprint(transport.Version), Theirs: fmt.Sprint(hello.GetVersion()),
		}
	}
	if id == protocol.Storage || id == protocol.AnyMember || id == protocol.Rumour || g.process == 0 ||
		!plausible(g.Address) || len(g.Name) > nameBytes || len(g.dialled) > nameBytes || len(g.policy) > nameBytes {
		return g, t.count(transport.Malformed, status.Errorf(codes.InvalidArgument,
			"a hello of member %016x, process %016x, at %.64q: each must be given, in at most %d bytes", uint64(id), g.process, g.Address, nameBytes))
	}
	return g, nil
}

// believe checks a hello by itself, and whether its sender is authentic.
func (t *Transport) believe(ctx context.Context, hello *schema.MemberHello) (greeting, error) {
	g, err := t.read(hello)
	if err != nil || t.config.Certificates == nil {
		return g, err
	}
	if err := t.config.Certificates.Member(secure.State(ctx), g.Name); err != nil {
		return g, &transport.Refusal{What: transport.NoProof, Who: quoted(g), Ours: t.identity().String(), Theirs: err.Error()}
	}
	return g, nil
}

// quoted names a process that may have sent anything.
func quoted(g greeting) string { return fmt.Sprintf("%.64q at %.64q", g.Name, g.Address) }

// compare returns whether this member and the other may talk, regardless of third ones.
func (t *Transport) compare(g greeting) error {
	self := t.identity()
	switch {
	case g.process == t.process:
		return errOneself
	case g.ID == self.ID:
		return &transport.Refusal{What: transport.SameID, Ours: self.String(), Theirs: g.String()}
	case g.Cluster != 0 && self.Cluster != 0 && g.Cluster != self.Cluster:
		return &transport.Refusal{
			What: transport.OtherCluster, Who: g.String(),
			Ours: strconv.FormatUint(self.Cluster, 36), Theirs: strconv.FormatUint(g.Cluster, 36),
		}
	}
	return nil
}

// meet returns whether this member talks to one that greets outside a link. A refusal is counted, and logged.
func (t *Transport) meet(ctx context.Context, hello *schema.MemberHello) error {
	g, err := t.believe(ctx, hello)
	if err == nil {
		err = t.compare(g)
	}
	if err != nil {
		t.onRefusal(err)
	}
	return err
}

// admit makes g the process that is known under its id. It is called with the mutex held.
func (t *Transport) admit(g greeting) (*known, error) {
	k := t.known[g.ID]
	switch {
	case k == nil:
		if len(t.known) >= acquaintances && !t.forgetOne() {
			return nil, status.Errorf(codes.ResourceExhausted, "%d members are known already", acquaintances)
		}
		k = &known{greeting: g, streams: map[*incoming]struct{}{}}
		t.known[g.ID] = k
	case k.process == g.process:
		k.Cluster, k.Address, k.Name, k.policy = g.Cluster, g.Address, g.Name, g.policy
	case g.Incarnation < k.Incarnation:
		return nil, &transport.Refusal{
			What: transport.OldLife, Who: g.String(), Ours: fmt.Sprint(k.Incarnation), Theirs: fmt.Sprint(g.Incarnation),
		}
	case g.Address != k.Address && k.live():
		return nil, &transport.Refusal{What: transport.SameID, Ours: k.String(), Theirs: g.String()}
	default:
		t.bury(k)
		k.greeting = g
	}
	return k, nil
}

// outlived refuses a process that greets as a later life of a member whose former process is connected here, and
// answers at the address that both claim: one of the two has a copy of the other's state folder. If a member has
// restarted, its former process no longer answers.
func (t *Transport) outlived(ctx context.Context, g greeting) error {
	t.mu.Lock()
	k := t.known[g.ID]
	doubtful := k != nil && k.process != g.process && k.Incarnation <= g.Incarnation && k.Address == g.Address && k.live()
	var former uint64
	if doubtful {
		former = k.process
	}
	t.mu.Unlock()
	if !doubtful {
		return nil
	}
	there, err := t.whoIsAt(ctx, g.Address)
	if err != nil {
		t.config.Logger.Debug("a member greets as a later life of one that does not answer", "address", g.Address, "error", err)
		return nil
	}
	if there.process != former {
		return nil
	}
	return &transport.Refusal{What: transport.SameID, Ours: there.String(), Theirs: g.String()}
}

// whoIsAt asks for the identity of the process at an address, by a separate connection. It takes at most half of a
// handshake: the caller's own one waits for it.
func (t *Transport) whoIsAt(ctx context.Context, address string) (there greeting, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.config.handshake()/2)
	defer cancel()
	conn, err := t.connect(&peer{t: t, address: address}, func() {})
	if err != nil {
		return there, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	stream, err := schema.NewMembersClient(conn).Link(ctx)
	if err != nil {
		return there, plain(err)
	}
	// The error of a send is uninformative; the receipt has it in full. No address is named, so that this stream
	// replaces no other.
	_ = stream.Send(&schema.MemberFrame{Hello: t.hello("")})
	receipt, err := stream.Recv()
	if err != nil {
		return there, plain(err)
	}
	return t.believe(stream.Context(), receipt.GetWelcome())
}

// bury removes the rest of a process that another one has replaced.
func (t *Transport) bury(k *known) {
	for in := range k.streams {
		in.finish(status.Error(codes.Aborted, "this member has restarted"))
	}
	clear(k.streams)
	if k.link != nil {
		k.link.link.close(errRestarted)
		k.link = nil
	}
}

var errRestarted = fmt.Errorf("the member has restarted")

// forgetOne forgets a member that is not connected, so that passing members do not fill the table. Its address can be
// learned again.
func (t *Transport) forgetOne() bool {
	for id, k := range t.known {
		if !k.live() {
			delete(t.known, id)
			return true
		}
	}
	return false
}

// learnPeer registers a link to the member that has welcomed this one.
func (t *Transport) learnPeer(p *peer, l *link) error {
	if err := t.compare(l.peer); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k, err := t.admit(l.peer)
	if err != nil {
		return err
	}
	if k.link == nil {
		k.link = p
	}
	p.link = l
	close(p.linked)
	return nil
}

// unlearnPeer removes the link of a peer, if it has one.
func (t *Transport) unlearnPeer(p *peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.link == nil {
		return
	}
	if k := t.known[p.link.peer.ID]; k != nil && k.link == p {
		k.link = nil
	}
	p.link, p.linked = nil, make(chan struct{})
}

// learnCaller registers a stream from a member. An earlier stream of the same process under the same address of this
// one ends; a stream that has ended while it greeted replaces no other.
func (t *Transport) learnCaller(in *incoming, from greeting) error {
	if err := t.compare(from); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-in.over:
		return status.Error(codes.Canceled, "the caller has hung up")
	default:
	}
	k, err := t.admit(from)
	if err != nil {
		return err
	}
	in.from = from
	for other := range k.streams {
		if other.from.dialled == from.dialled {
			other.finish(status.Error(codes.Aborted, "a later stream has taken the place of this one"))
			delete(k.streams, other)
		}
	}
	if len(k.streams) >= streamsOfOne {
		return t.count(transport.Limit, status.Errorf(codes.ResourceExhausted, "member %s has %d streams already", from, streamsOfOne))
	}
	k.streams[in] = struct{}{}
	if p := t.peers[from.Address]; p != nil {
		p.call()
	}
	return nil
}

// forgetCaller removes a stream.
func (t *Transport) forgetCaller(in *incoming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.incoming, in)
	if k := t.known[in.from.ID]; k != nil {
		delete(k.streams, in)
	}
}

// count counts a stream closed because of its input.
func (t *Transport) count(why string, err error) error {
	t.config.Observer.Refused(why)
	return err
}

// onRefusal counts a refusal, and logs it once. Other errors are counted at their source.
func (t *Transport) onRefusal(err error) {
	var refusal *transport.Refusal
	if errors.As(err, &refusal) {
		t.config.Observer.Refused(refusal.What)
		t.reportOnce(refusal.Error())
	}
}

// maxReported bounds the number of remembered log messages.
const maxReported = 256

// reportOnce logs something once.
func (t *Transport) reportOnce(sentence string) {
	t.mu.Lock()
	_, known := t.reported[sentence]
	if len(t.reported) >= maxReported {
		clear(t.reported) // a caller with ever new messages may have some repeated
	}
	t.reported[sentence] = struct{}{}
	t.mu.Unlock()
	if !known {
		t.config.Logger.Error(strings.ToValidUTF8(sentence, "?"))
	}
}
