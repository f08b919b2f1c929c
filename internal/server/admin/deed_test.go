package admin_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestTransfer: the call names a member by name or address, and the answer names the deciding member
// by name.
func TestTransfer(t *testing.T) {
	b := newHarness(t)
	o := b.service()
	b.space.answer = func(fact any) any {
		return &protocol.Transferred{Authority: []protocol.ID{fact.(*protocol.Transfer).To}}
	}
	for _, member := range []string{"b", "b.example:4040"} {
		authority, err := o.Transfer(t.Context(), "billing", member)
		if err != nil || !reflect.DeepEqual(authority, []string{"b"}) {
			t.Errorf("to %s: %v, %v", member, authority, err)
		}
	}
	if want := []any{&protocol.Transfer{To: 8}, &protocol.Transfer{To: 8}}; !reflect.DeepEqual(b.space.queries, want) {
		t.Errorf("the space was asked %+v", b.space.queries)
	}
}

// TestTransferRefused: each refusal has its kind, and a sentence that says what to do.
func TestTransferRefused(t *testing.T) {
	b := newHarness(t)
	o := b.service()
	said := errors.New("member b has the space closed")
	for _, c := range []struct {
		space, member string
		answer        error
		want          error
		text          string
	}{
		{"default", "b", nil, holdfast.ErrUnsupported, "protocol central does not offer transfer"},
		{"default", "stranger", nil, holdfast.ErrUnsupported, "protocol central does not offer transfer"},
		{"billing", "stranger", holdfast.ErrConflict, holdfast.ErrConflict, `member "stranger" is not in view 4, whose members are a, b, c; name one of these`},
		{"billing", "", holdfast.ErrConflict, holdfast.ErrConflict, `member "" is not in view 4`},
		{"billing", "b", holdfast.ErrConflict, holdfast.ErrConflict, `member "b" cannot be the authority of space "billing": it is not in the view, or has the space closed`},
		{"billing", "b", said, said, said.Error()},
		{"billing", "b", holdfast.ErrUnavailable, holdfast.ErrUnavailable, "unavailable"},
		{"nowhere", "b", nil, holdfast.ErrSpace, `unknown space "nowhere": this member serves default, billing`},
	} {
		b.space.answer = func(any) any { return &protocol.Transferred{Err: c.answer} }
		_, err := o.Transfer(t.Context(), c.space, c.member)
		if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), c.text) {
			t.Errorf("%s to %q: %v, want %s", c.space, c.member, err, c.text)
		}
	}
}

// TestTransferWithoutAView: no member is known, which is no fault of the name.
func TestTransferWithoutAView(t *testing.T) {
	b := newHarness(t)
	o, err := admin.New(admin.Config{
		Driver: b.driver, View: func() protocol.View { return protocol.View{} },
		Spaces: []admin.Space{{Name: "default"}, {Name: "billing"}},
	})
	must(t, err)
	defer o.Close()
	b.space.answer = func(any) any { return &protocol.Transferred{Err: holdfast.ErrConflict} }
	if _, err := o.Transfer(t.Context(), "billing", "b"); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// TestOpenAndClose: a space is opened and closed at its own port, and refusals are reported.
func TestOpenAndClose(t *testing.T) {
	b := newHarness(t)
	o := b.service()
	var answer error
	b.space.answer = func(fact any) any {
		_, opens := fact.(*protocol.OpenSpace)
		return &protocol.SpaceOpen{Open: opens && answer == nil, Err: answer}
	}
	must(t, o.CloseSpace(t.Context(), "billing"))
	must(t, o.OpenSpace(t.Context(), "billing"))
	if want := []any{&protocol.CloseSpace{}, &protocol.OpenSpace{}}; !reflect.DeepEqual(b.space.queries, want) {
		t.Errorf("the space was asked %+v", b.space.queries)
	}
	for _, c := range []struct {
		answer, want error
		text         string
	}{
		{holdfast.ErrConflict, holdfast.ErrConflict, `space "billing" was asked for the opposite of close meanwhile`},
		{&holdfast.LimitError{Limit: "operators", Value: 64}, holdfast.ErrLimit, "limit operators of 64 reached"},
		{holdfast.ErrUnsupported, holdfast.ErrUnsupported, "protocol grantor does not offer to close a space"},
	} {
		answer = c.answer
		if err := o.CloseSpace(t.Context(), "billing"); !errors.Is(err, c.want) || err.Error() != c.text {
			t.Errorf("%v, want %s", err, c.text)
		}
	}
	if err := o.OpenSpace(t.Context(), "nowhere"); api.Code(err) != api.CodeUnknownSpace {
		t.Errorf("got %v", err)
	}
}

// TestUnansweredOperations end with their context, because of its cause, and with the Operator.
func TestUnansweredOperations(t *testing.T) {
	b := newHarness(t)
	o := b.service()
	cause := errors.New("the caller has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.space.answer = func(any) any { cancel(cause); return nil }
	if err := o.CloseSpace(ctx, "billing"); err != cause {
		t.Errorf("ended with %v", err)
	}
	b.space.answer = func(any) any { go o.Close(); return nil }
	if _, err := o.Transfer(t.Context(), "billing", "b"); err != holdfast.ErrClosed {
		t.Errorf("ended with %v", err)
	}
}

// TestNew names what is missing.
func TestNew(t *testing.T) {
	b := newHarness(t)
	spaces := []admin.Space{{Name: "default"}}
	for want, c := range map[string]admin.Config{
		"operator: Driver is nil":   {View: view, Spaces: spaces},
		"operator: View is nil":     {Driver: b.driver, Spaces: spaces},
		"operator: Spaces is empty": {Driver: b.driver, View: view},
	} {
		if _, err := admin.New(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
