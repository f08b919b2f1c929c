package sim

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
)

// Claims are the options of a space of claims in a script, and what its store can do. Zeros mean
// the defaults.
type Claims struct {
	Wait, Expiry, Skew       time.Duration
	Unit                     string
	CAS, StoreClock, Cleaner bool
	TTL, Watch               bool // the store's
}

// resolve returns the options and the store that a script's are, whose hold_on stands among those of all
// protocols. The error says what is not allowed.
func (c *Claims) resolve(drift float64, holdOn time.Duration) (o claim.Options, store storage.Features, err error) {
	o = claim.Options{
		Wait: c.Wait, Expiry: c.Expiry, Skew: c.Skew, CAS: c.CAS, StoreClock: c.StoreClock, Cleaner: c.Cleaner,
		HoldOn: holdOn, RID: "r", Group: "locks",
	}
	if c.Unit != "" {
		known := false
		if o.Unit, known = claim.ParseUnit(c.Unit); !known {
			return o, store, fmt.Errorf("unit %q; us, ms and ns are allowed", c.Unit)
		}
	}
	err = o.Resolve(drift)
	o.RID = ""
	return o, claimStore(c.TTL, c.Watch), err
}

// claimStore is a store that can do all that claims need.
func claimStore(ttl, watch bool) storage.Features {
	return storage.Features{Name: "simulated", Consistent: true, Swap: true, Durable: true, Clock: true, TTL: ttl, Watch: watch}
}

// claims is what the settings of a run are in a script.
func (s *settings) claims() Claims {
	if s.claim.Wait == 0 {
		return Claims{}
	}
	o := &s.claim
	return Claims{
		Wait: o.Wait, Expiry: o.Expiry, Skew: o.Skew, Unit: o.Unit.String(), CAS: o.CAS, StoreClock: o.StoreClock, Cleaner: o.Cleaner,
		TTL: s.store.TTL, Watch: s.store.Watch,
	}
}

// settingsOfClaims are the lines of a script's settings for these.
func settingsOfClaims(text func(string, func(*Script) *string, bool) setting, length func(string, func(*Script) *time.Duration, bool) setting, flag func(string, func(*Script) *bool) setting) []setting {
	return []setting{
		length("wait", func(s *Script) *time.Duration { return &s.Claims.Wait }, false),
		length("expiry", func(s *Script) *time.Duration { return &s.Claims.Expiry }, false),
		length("skew", func(s *Script) *time.Duration { return &s.Claims.Skew }, false),
		text("unit", func(s *Script) *string { return &s.Claims.Unit }, false),
		flag("cas", func(s *Script) *bool { return &s.Claims.CAS }),
		flag("clock", func(s *Script) *bool { return &s.Claims.StoreClock }),
		flag("cleaner", func(s *Script) *bool { return &s.Claims.Cleaner }),
		flag("store-ttl", func(s *Script) *bool { return &s.Claims.TTL }),
		flag("store-watch", func(s *Script) *bool { return &s.Claims.Watch }),
	}
}
