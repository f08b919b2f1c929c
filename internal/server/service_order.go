package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// order is a checked acquireInput.
type order struct {
	acquireInput
	space   *Space
	sorted  []string // the names in request order
	given   credentials
	waitEnd protocol.Time     // 0: do not wait
	digest  [sha256.Size]byte // of an order with an id: its content
}

// acquireInput decodes a request. The error says what is wrong with it.
func (s *service) acquireInput(ctx context.Context, r *schema.AcquireRequest) (in acquireInput, err error) {
	by := callerOf(ctx)
	in = acquireInput{
		Space: r.GetSpace(), Names: r.GetNames(), Session: r.GetSession(), Request: r.GetRequest(),
		Client: by.called(r.GetClient()), Caller: by, Arrived: s.arrived(ctx), message: r,
	}
	switch {
	case (r.Name != nil) == (len(r.GetNames()) > 0):
		return in, api.Fail(api.CodeBadRequest, fmt.Sprintf("name, names: want exactly one of them, and 1 to %d names", s.limits.Names))
	case r.Session != nil && in.Session == "", r.Request != nil && in.Request == "":
		return in, api.Fail(api.CodeBadRequest, "session, request: neither may be empty; leave it out instead")
	case r.Name != nil:
		in.Names = []string{r.GetName()}
	}
	if in.Wait, err = atLeast("wait", r.GetWait(), 0); err != nil {
		return in, err
	}
	if in.TTL, err = atLeast("ttl", r.GetTtl(), time.Millisecond); err != nil {
		return in, err
	}
	hold, err := atLeast("hold", r.GetHold(), 1)
	if err != nil {
		return in, err
	}
	if in.Attributes, err = api.FromAttributes(r, hold); err != nil {
		return in, err
	}
	in.Require, err = api.FromClass(r.GetRequire())
	return in, err
}

// atLeast decodes an optional duration, 0 if absent.
func atLeast(field string, d *durationpb.Duration, least time.Duration) (time.Duration, error) {
	if got := d.AsDuration(); d == nil || got >= least {
		return got, nil
	}
	return 0, api.Fail(api.CodeBadRequest, fmt.Sprintf("%s: %v: want at least %v", field, d.AsDuration(), least))
}

// once returns the identity of an order that may come through another member, too, for the deciding member: one with a
// session and an id. Without a session each member opens another one.
func (o *order) once() (id string, content uint64) {
	if o.Session == "" || o.Request == "" {
		return "", 0
	}
	return o.Request, binary.BigEndian.Uint64(o.digest[:])
}

// order checks in. The error is complete; the order has its space if that is known.
func (s *service) order(in acquireInput) (*order, error) {
	o := &order{acquireInput: in}
	space, err := s.space(in.Space)
	if err != nil {
		return o, failed("acquire", "", "", err)
	}
	o.space = space
	if len(in.Names) == 0 || len(in.Names) > s.limits.Names {
		return o, failed("acquire", space.Name, "", api.Fail(api.CodeBadRequest,
			fmt.Sprintf("names: there are %d; want 1 to %d", len(in.Names), s.limits.Names)))
	}
	for _, name := range in.Names {
		if err := s.checkOne(in, name); err != nil {
			return o, failed("acquire", space.Name, strings.ToValidUTF8(name, "\uFFFD"), api.BadRequest(err))
		}
	}
	if err := s.checkAll(o); err != nil {
		return o, failed("acquire", space.Name, o.single(), api.BadRequest(err))
	}
	o.sorted = slices.Sorted(slices.Values(in.Names))
	for i := 1; i < len(o.sorted); i++ {
		if o.sorted[i] == o.sorted[i-1] {
			return o, failed("acquire", space.Name, o.sorted[i], fmt.Errorf("%w: the name is listed twice", holdfast.ErrConflict))
		}
	}
	if in.Wait > 0 {
		o.waitEnd = lock.After(in.Arrived, in.Wait)
	}
	if in.Request != "" {
		if o.digest, err = digestOf(in); err != nil {
			return o, failed("acquire", space.Name, o.single(), err)
		}
	}
	return o, nil
}

func (s *service) checkOne(in acquireInput, name string) error {
	request := holdfast.Request{
		Name: name, Attributes: in.Attributes,
		Wait: in.Wait,
	}
	return cmp.Or(request.Check(), s.checkName(name), s.checkValue(in.Value))
}

func (s *service) checkAll(o *order) (err error) {
	if err := edge.CheckTTL(o.TTL); err != nil {
		return err
	}
	if len(o.Request) > maxRequestID || strings.ContainsFunc(o.Request, unprintable) {
		return fmt.Errorf("request: want 1 to %d printable ASCII characters", maxRequestID)
	}
	if err := holdfast.CheckText("client", o.Client); err != nil {
		return err
	}
	if o.Require > o.space.Class {
		return api.Fail(api.CodeClass, fmt.Sprintf("space %s is %v; %v is required", o.space.Name, o.space.Class, o.Require))
	}
	if o.Session != "" {
		o.given, err = s.credentials(o.Session, o.Caller)
	}
	return err
}

// maxRequestID is the maximum length of an idempotency id.
const maxRequestID = 64

func unprintable(r rune) bool { return r < ' ' || r > '~' }

// single returns the name of an order for one.
func (o *order) single() string {
	if len(o.Names) == 1 {
		return o.Names[0]
	}
	return ""
}

// digestOf hashes the content of a request, without the caller, the time and the rest of its wait. Spaces keep it in
// their logs, so it does not depend on the order of the fields, nor on zero fields: adding a field changes no hash of a
// request without it.
func digestOf(in acquireInput) (sum [sha256.Size]byte, err error) {
	in.Client, in.Arrived, in.Wait = "", 0, min(in.Wait, 1)
	var fields map[string]json.RawMessage
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool {
			return slices.Contains([]string{`0`, `""`, `null`, `{}`}, string(value))
		})
		text, err = json.Marshal(fields) // in the order of the names
	}
	if err != nil {
		return sum, fmt.Errorf("condense the request: %w", err)
	}
	return sha256.Sum256(text), nil
}
