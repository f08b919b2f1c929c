package local

import "github.com/holdfast-locks/holdfast/protocol/probe"

// Fields says what fields are for that all who keep their own clients' requests have.
func Fields() []probe.Field {
	return []probe.Field{
		{In: Request{}, Name: "Since"}, // for people
		{In: Place{}, Name: "Since", Kind: probe.ViewOf},
		{In: Tag{}, Name: "View", Kind: probe.ViewOf},
	}
}
