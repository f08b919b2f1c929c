package lock

import "testing"

// TestClaim checks which clients may resume a session: each has a number and a generation, and follows those that have
// used the session before.
func TestClaim(t *testing.T) {
	opened := Attachments{Attachment: Attachment{Client: 7, Generation: 1}}
	taken := Attachments{Attachment: Attachment{Client: 5, Generation: 2}, Former: [MostFormer]uint64{7}}
	for name, c := range map[string]struct {
		at                 Attachments
		client, generation uint64
		want               Attachments
		ok                 bool
	}{
		"its own client comes back":                     {opened, 7, 1, opened, true},
		"before it had an answer":                       {opened, 7, 0, opened, true},
		"another takes it over":                         {opened, 5, 0, taken, true},
		"and says so again, before it had an answer":    {taken, 5, 0, taken, true},
		"the former one comes back":                     {taken, 7, 1, taken, false},
		"or its first hello is late":                    {taken, 7, 0, taken, false},
		"a client without a number":                     {taken, 0, 0, taken, true},
		"the first with a number, of an older session":  {Attachments{}, 7, 0, opened, true},
		"one that has taken over where this was behind": {opened, 5, 2, taken, true},
		"of two at the same time the higher number":     {taken, 6, 2, Attachments{Attachment{6, 2}, [MostFormer]uint64{5, 7}}, true},
		"and the lower is refused":                      {taken, 4, 2, taken, false},
	} {
		if got, ok := c.at.Claim(c.client, c.generation); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, ok, c.want, c.ok)
		}
	}
}

// TestJoin checks that two places that know different clients of a session agree, regardless of the order.
func TestJoin(t *testing.T) {
	var at Attachments
	for client := uint64(1); client <= 2*MostFormer; client++ {
		next, ok := at.Claim(client, 0)
		if !ok {
			t.Fatalf("client %d is refused by %+v", client, at)
		}
		if again := next.Join(next); again != next {
			t.Errorf("joined with itself: %+v, want %+v", again, next)
		}
		if one, other := at.Join(next), next.Join(at); one != next || other != next {
			t.Errorf("joined with what was before: %+v and %+v, want %+v", one, other, next)
		}
		at = next
	}
	want := Attachments{Attachment{8, 8}, [MostFormer]uint64{7, 6, 5, 4}}
	if at != want {
		t.Errorf("after 8 clients it is %+v, want %+v", at, want)
	}
	for client := uint64(1); client < 8; client++ {
		if _, ok := at.Claim(client, client); ok {
			t.Errorf("client %d comes back behind 7 others", client)
		}
	}
}
