package config

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Bounds of values, with a comment for those derived from something.
const (
	minLease     = 100 * time.Millisecond // shorter ones end by scheduling delays alone
	maxLease     = time.Hour
	minPatience  = time.Millisecond
	maxPatience  = 5 * time.Minute
	maxDrift     = 0.5
	minTTL       = time.Second
	maxMemoryTTL = time.Hour // with a space in memory
	maxCandidate = 14
	maxCount     = math.MaxInt32

	maxNameBytes    = holdfast.MaxName
	maxValueBytes   = holdfast.MaxValue
	minMessageBytes = 4096 // one request with the longest name, owner and reason
	maxMessageBytes = 1 << 30
	maxWatchers     = 1 << 20
	maxRequests     = 1 << 30
	maxMemberName   = 64
	minTraceSize    = 64 << 10 // a start and some steps
	maxTraceSize    = 1 << 40
)

// span is the allowed range of a duration.
type span struct{ least, most time.Duration }

func (s span) String() string { return option.Format(s.least) + " to " + option.Format(s.most) }

// into ties a key to a field, with its formatter and parser.
func into[T any](key Key, field func(*Config) *T, parse func(text string) (T, *flaw), format func(T) string) Key {
	key.read = func(c *Config, text string) *flaw {
		value, wrong := parse(text)
		if wrong == nil {
			*field(c) = value
		}
		return wrong
	}
	key.format = func(c *Config) string { return format(*field(c)) }
	return key
}

func itself(text string) string { return text }

// checkedKey is a text key with a check.
func checkedKey(name, value string, field func(*Config) *string, check func(string) *flaw, allowed, help string) Key {
	key := Key{Name: name, Kind: Text, Default: value, Allowed: allowed, Help: help}
	return into(key, field, func(text string) (string, *flaw) { return text, check(text) }, itself)
}

func textKey(name, value string, field func(*Config) *string, allowed, help string) Key {
	return checkedKey(name, value, field, func(string) *flaw { return nil }, allowed, help)
}

// listKey is a key of comma-separated texts, each with a check.
func listKey(name string, field func(*Config) *[]string, check func(string) *flaw, allowed, help string) Key {
	key := Key{Name: name, Kind: List, Separator: ",", Allowed: allowed, Help: help}
	return into(key, field, func(text string) (items []string, wrong *flaw) {
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
		for item := range strings.SplitSeq(text, ",") {
			item = strings.TrimSpace(item)
			if wrong := check(item); wrong != nil {
				return nil, wrong
			}
			items = append(items, item)
		}
		return items, nil
	}, func(items []string) string { return strings.Join(items, ",") })
}

func nameKey() Key {
	return checkedKey("name", "", func(c *Config) *string { return &c.Name }, checkMemberName,
		fmt.Sprintf("1 to %d of the characters A-Z a-z 0-9 . _ -, or empty for HOST-PORT", maxMemberName),
		"Name of this member; without it HOST-PORT of the listen address.")
}

// checkMemberName accepts only names that fit in a log line, a URL and a folder.
func checkMemberName(name string) *flaw {
	if len(name) > maxMemberName {
		return &flaw{fmt.Sprintf("it has %d characters", len(name)), "shorten it"}
	}
	for _, r := range name {
		if !nameRune(r) {
			return &flaw{fmt.Sprintf("it contains %q", r), "replace that character"}
		}
	}
	if name == "." || name == ".." {
		return &flaw{"it is the name of a folder that exists everywhere", "give another one"}
	}
	return nil
}

func nameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-'
}

func membersKey() Key {
	return listKey("tls.members", func(c *Config) *[]string { return &c.TLS.Members }, func(pattern string) *flaw {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return &flaw{quote(pattern) + " is no pattern of names", "give names, as in m1,m2, or patterns, as in m-*"}
		}
		return nil
	}, "names, or patterns with * ? and [a-z], or empty for every name",
		"Names of the members with TLS, or patterns of them; a process with another name cannot join; needed if clients' certificates have the same authority.")
}

// readCount parses a whole number from least to most.
func readCount(text string, least, most int) (int, *flaw) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, &flaw{"it is not a whole number that fits", "write digits only, as in " + strconv.Itoa(max(least, 1))}
	case n < least:
		return 0, &flaw{"it is too small", fmt.Sprintf("give %d or more", least)}
	case n > most:
		return 0, &flaw{"it is too large", fmt.Sprintf("give %d or less", most)}
	}
	return n, nil
}

func countKey(name, value string, least, most int, field func(*Config) *int, help string) Key {
	key := Key{Name: name, Kind: Count, Default: value, Allowed: fmt.Sprintf("%d to %d", least, most), Help: help}
	return into(key, field, func(text string) (int, *flaw) { return readCount(text, least, most) }, strconv.Itoa)
}

// countOrKey is a key of a number or a word, which stands for 0.
func countOrKey(name, value, word string, most int, field func(*Config) *int, allowed, help string) Key {
	key := Key{Name: name, Kind: Count, Default: value, Allowed: allowed, Help: help}
	return into(key, field, func(text string) (int, *flaw) {
		if text == word {
			return 0, nil
		}
		return readCount(text, 1, most)
	}, func(n int) string {
		if n == 0 {
			return word
		}
		return strconv.Itoa(n)
	})
}

func expectKey() Key {
	return countOrKey("expect", "", "", maxCount, func(c *Config) *int { return &c.Expect }, "the number of founders, 1 or more",
		"Number of founders, including this member; without it, a member that joins is a guest.")
}

func candidateKey() Key {
	return countOrKey("priority", "8", "off", maxCandidate, func(c *Config) *int { return &c.Candidate }, fmt.Sprintf("1 to %d, or off", maxCandidate),
		"How eligible this member is as a leader of spaces of protocol bakery: 1 is the most, off is never.")
}

func durationKey(name, value string, allowed span, note string, field func(*Config) *time.Duration, help string) Key {
	key := Key{Name: name, Kind: Duration, Default: value, Allowed: allowed.String() + note, Help: help}
	return into(key, field, func(text string) (time.Duration, *flaw) { return readDuration(text, allowed, value) }, option.Format)
}

// longestTTLKey is limits.ttl, whose default and bound are lower if a space is in memory: see settleTTL.
func longestTTLKey() Key {
	most, memory := session.LongestTTL(true, 0), session.LongestTTL(false, 0)
	return durationKey("limits.ttl", option.Format(most), span{minTTL, most}, ", and at most "+option.Format(maxMemoryTTL)+" where a space is in memory",
		func(c *Config) *time.Duration { return &c.Limits.TTL },
		"Longest TTL of a session; if a space has another protocol than consensus, the default is "+option.Format(memory)+
			", or the lease if that is longer: the names of a lost member stay taken for as long as it promised its clients.")
}

// readDuration parses a duration. Example shows its form.
func readDuration(text string, allowed span, example string) (time.Duration, *flaw) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, &flaw{"it is not a duration", "write a number and a unit, as in " + example}
	case d < allowed.least:
		return 0, &flaw{"it is too short", "give " + option.Format(allowed.least) + " or more"}
	case d > allowed.most:
		return 0, &flaw{"it is too long", "give " + option.Format(allowed.most) + " or less"}
	}
	return d, nil
}

func driftKey() Key {
	key := Key{
		Name: "drift", Kind: Fraction, Default: "0.05",
		Allowed: fmt.Sprintf("more than 0, at most %v", maxDrift),
		Help:    "Largest difference between the rates of any two clocks: 0.05 is 5 %.",
	}
	return into(key, func(c *Config) *float64 { return &c.Drift }, func(text string) (float64, *flaw) {
		x, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return 0, &flaw{"it is not a number", "write it as in 0.05"}
		case !(x > 0 && x <= maxDrift): // also refuses NaN
			return 0, &flaw{"it is out of bounds", "leave it out for 0.05, which is more than clocks differ by"}
		}
		return x, nil
	}, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) })
}

func choiceKey(name, value string, choices []string, field func(*Config) *string, help string) Key {
	return checkedKey(name, value, field, func(text string) *flaw {
		if slices.Contains(choices, text) {
			return nil
		}
		return &flaw{"it is none of the choices", suggest(strings.ToLower(text), choices, "leave it out for "+value)}
	}, strings.Join(choices, ", "), help)
}

func switchKey(name string, field func(*Config) *bool, help string) Key {
	key := Key{Name: name, Kind: Switch, Default: "false", Allowed: "true, false", Help: help}
	return into(key, field, func(text string) (bool, *flaw) {
		if text != "true" && text != "false" {
			return false, &flaw{"it is neither", "write true or false"}
		}
		return text == "true", nil
	}, strconv.FormatBool)
}
