package config

import (
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/member"
)

// Option is an option of spaces, for documentation.
type Option struct {
	Name      string
	Protocols []string // protocols that have it
	Default   string   // a value, or a sentence
	Allowed   []string // values and ranges
	Help      string   // one sentence
}

// Options lists the options of all protocols in the order of the documentation. An option of several protocols with the
// same meaning appears once, with the values of the first of them.
func Options() (all []Option) {
	for _, d := range member.Protocols() {
		for _, o := range optionsOf(d.Name) {
			if o.Tuning {
				continue
			}
			i := slices.IndexFunc(all, func(other Option) bool { return other.Name == o.Name && other.Help == o.Help })
			if i < 0 {
				all = append(all, Option{Name: o.Name, Default: o.Default, Allowed: o.Value.Allowed(), Help: o.Help})
				i = len(all) - 1
			}
			all[i].Protocols = append(all[i].Protocols, d.Name)
		}
	}
	return all
}

// Values returns the possible values of the option, its default first.
func (o *Option) Values() string {
	others := slices.DeleteFunc(slices.Clone(o.Allowed), func(value string) bool { return value == o.Default })
	return strings.Join(append([]string{o.Default}, others...), "; ")
}

// allProtocols stands for all protocols in the documentation of an option.
const allProtocols = "all"

// For names the protocols that have it.
func (o *Option) For() string {
	if len(o.Protocols) == len(served()) {
		return allProtocols
	}
	return strings.Join(o.Protocols, ", ")
}
