package local

import "github.com/holdfast-locks/holdfast/protocol/probe"

// Fields describes the fields common to all protocols that keep their own clients' requests.
func Fields() []probe.Field {
	return []probe.Field{
		{In: Request{}, Name: "Since"}, // for people
		{In: Place{}, Name: "Since", Kind: probe.ViewOf},
		{In: Tag{}, Name: "View", Kind: probe.ViewOf},
	}
}
