package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

const spaceSyntax = "NAME=PROTOCOL[,option=value…]"

// usual is the protocol suggested in errors, and that of a default space in memory.
const usual = "central"

// served returns the names of the protocols of this version.
func served() (names []string) {
	for _, d := range member.Protocols() {
		names = append(names, d.Name)
	}
	return names
}

// durable is the protocol that stores its locks on the disk. It is the default space's unless configured.
const durable = "consensus"

// described returns the protocol of that name, or nil.
func described(protocolName string) *protocol.Descriptor {
	return protocol.Named(member.Protocols(), protocolName)
}

// optionsOf lists the options of a protocol, all unset, and none of an unknown protocol. If locks are kept in a store,
// its URL is one of them.
func optionsOf(protocolName string) option.List {
	d := described(protocolName)
	if d == nil {
		return nil
	}
	list := d.Options().List()
	if d.Stores {
		list = slices.Insert(list, len((&protocol.Common{}).List()), storeURL())
	}
	return list
}

// String returns the space in command line form, without passwords.
func (s Space) String() string {
	var b strings.Builder
	b.WriteString(hushed(s.Name) + "=" + hushed(s.Protocol))
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		b.WriteString("," + hushed(name) + "=" + redacted(name, s.Options[name]))
	}
	return b.String()
}

// addSpaces adds the spaces of a flag or a variable to a layer.
func (l *loader) addSpaces(y layer, text, origin string) {
	for item := range strings.SplitSeq(text, ";") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue // a trailing semicolon, or an empty variable
		}
		space, wrong := readSpace(item)
		if wrong != nil {
			l.complain(Problem{"spaces", quote(redactedItem(item)), origin, wrong.wrong, spaceSyntax, wrong.fix})
			continue
		}
		l.addSpace(y, space, origin)
	}
}

// addSpace adds one space to a layer, unless its name is invalid.
func (l *loader) addSpace(y layer, space Space, origin string) {
	if err := holdfast.CheckSpace(space.Name); err != nil {
		l.complain(Problem{"spaces", quote(space.String()), origin, hushed(err.Error()), spaceSyntax, "give the space another name"})
		return
	}
	if !y.setSpace(setting{Space: space, Origin: origin}) {
		l.complain(Problem{"spaces." + space.Name, quote(space.String()), origin, "the space is given twice", "", "give each space once"})
	}
}

// readSpace parses NAME=PROTOCOL[,option=value…].
func readSpace(text string) (Space, *flaw) {
	name, rest, found := strings.Cut(text, "=")
	if !found {
		return Space{}, &flaw{"it names no protocol", "write it as in " + oneLine(text+"="+usual)}
	}
	protocol, more, others := strings.Cut(rest, ",")
	space := Space{Name: strings.TrimSpace(name), Protocol: strings.TrimSpace(protocol)}
	if !others {
		return space, nil
	}
	for _, part := range splitOptions(space.Protocol, more) {
		name, value, found := strings.Cut(part, "=")
		o := optionsOf(space.Protocol).Find(strings.TrimSpace(part))
		alone := o != nil && o.Alone()
		switch {
		case alone:
			value = "true"
		case !found:
			return Space{}, &flaw{"its option " + quote(hushed(part)) + " has no value", "write option=value"}
		}
		if wrong := space.setOption(strings.TrimSpace(name), strings.TrimSpace(value)); wrong != nil {
			return Space{}, wrong
		}
	}
	return space, nil
}

func (s *Space) setOption(name, value string) *flaw {
	if _, taken := s.Options[name]; taken {
		return &flaw{"its option " + quote(name) + " is given twice", "give each option once"}
	}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	s.Options[name] = value
	return nil
}

// readSpaces sets the merged spaces: default first, then by name.
func (l *loader) readSpaces() {
	names := l.merged.MapKeys("spaces")
	slices.SortFunc(names, func(a, b string) int {
		if (a == holdfast.DefaultSpace) != (b == holdfast.DefaultSpace) {
			if a == holdfast.DefaultSpace {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	var all []setting
	for _, name := range names {
		if found, ok := l.setting(mergePath("spaces") + delimiter + name); ok {
			all = append(all, found)
		}
	}
	l.settleDefault(all)
	for _, found := range all {
		l.config.origins["spaces."+found.Space.Name] = found.Origin
		l.checkSpace(found)
		l.config.Spaces = append(l.config.Spaces, found.Space.clone())
	}
}

// Option returns the value of an option: the given one, or its default. It is "" for an option that the protocol does
// not have.
func (s Space) Option(name string) string {
	list := optionsOf(s.Protocol)
	if err := list.Parse(s.Options); err != nil {
		return s.Options[name]
	}
	return list.Effective()[name]
}

// ProtocolOptions returns the protocol's own options: all given ones except the URL of the store, and those that the
// store prefers.
func (s Space) ProtocolOptions() option.Values {
	given := option.Values(maps.Clone(s.Options))
	delete(given, storeOption)
	if url := s.Store(); url != "" && prefersSwap(url, func(name string) bool { return given[name] != "" }) {
		given["cas"] = "true"
	}
	return given
}

// takes reports whether an option of the space's protocol accepts that value.
func (s Space) takes(name, value string) bool {
	return optionsOf(s.Protocol).Set(name, value, true) == nil
}

// checkSpace checks protocol and options.
func (l *loader) checkSpace(s setting) {
	refuse := func(wrong, allowed, fix string) {
		l.badSpaces = true
		l.complain(Problem{"spaces." + s.Space.Name, quote(s.Space.String()), s.Origin, wrong, allowed, fix})
	}
	use := "use " + protocol.Names(member.Protocols())
	switch {
	case slices.Contains(served(), s.Space.Protocol):
	default:
		refuse("there is no protocol "+quote(hushed(s.Space.Protocol)), strings.Join(served(), ", "),
			suggest(s.Space.Protocol, served(), use))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Space.Options)) {
		r := optionsOf(s.Space.Protocol).Set(name, s.Space.Options[name], true)
		switch {
		case r == nil:
		case r.Unknown:
			refuse(fmt.Sprintf("protocol %s has no option %s", s.Space.Protocol, quote(hushed(name))), r.Allowed, suggest(name, r.Words, r.Fix))
		default:
			text := fmt.Sprintf("option %s cannot be %s", name, quote(redacted(name, r.Value)))
			if r.Wrong != "" {
				text += ": " + r.Wrong
			}
			refuse(text, r.Allowed, suggest(r.Value, r.Words, r.Fix))
		}
	}
	d := described(s.Space.Protocol)
	if why := l.keepsNothing(); d.Logs && why != "" {
		fix := "give the member a name with --name NAME, or a folder with --data DIR"
		if l.config.State == noState {
			fix = "leave state out, or give it a folder with --data DIR in its place"
		}
		refuse("protocol "+d.Name+" keeps its locks on the disk, and there is no folder to find again with "+why, "", fix)
	}
	if _, given := s.Space.Options[storeOption]; d.Stores && !given {
		refuse("protocol "+d.Name+" keeps its locks in a store, and there is no option "+storeOption, "", "give "+storeOption+"=URL, as in "+storeOption+"=postgres://HOST/DATABASE")
	}
}
