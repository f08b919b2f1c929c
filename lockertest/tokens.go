package lockertest

import (
	"math"

	"github.com/holdfast-locks/holdfast"
)

func tokenChecks() []check {
	return []check{
		{name: "tokens_rise", run: (*stage).tokensRise},
		{name: "tokens_rise_across_free_periods", run: (*stage).tokensRiseAcrossFreePeriods},
		{name: "tokens_rise_in_all_modes", need: needs(needShared, needSlots, func(c Caps) string {
			return when(c.LooseTokens, "tokens of shared and slots grants do not order")
		}), run: (*stage).tokensRiseInAllModes},
	}
}

// rising checks the order of one name's tokens (P2).
type rising struct {
	s    *stage
	last holdfast.Token
}

func (r *rising) next(lock *holdfast.Lock) {
	r.s.Helper()
	token := lock.Token()
	if token == 0 || token > math.MaxInt64 {
		r.s.Errorf("token %d of %q is not a positive int64", token, lock.Name())
	}
	if token <= r.last {
		r.s.Errorf("token %v of %q was granted after token %v", token, lock.Name(), r.last)
	}
	r.last = token
}

// tokensRise passes one name among sessions that wait for it.
func (s *stage) tokensRise() {
	sessions := s.lockers(3)
	name := s.name()
	tokens := rising{s: s}
	lock := s.lock(sessions[0], name)
	tokens.next(lock)
	for i := range max(1, s.caps.Rounds/10) {
		w := s.queue(sessions[i%len(sessions)], name)
		s.unlock(lock)
		lock = s.granted(w)
		tokens.next(lock)
	}
	s.unlock(lock)
}

// tokensRiseAcrossFreePeriods leaves a name free while thousands of others are locked and the session that had it is
// closed, so that no implementation can be expected to remember it.
func (s *stage) tokensRiseAcrossFreePeriods() {
	name := s.name("watched")
	tokens := rising{s: s}
	for range 3 {
		locks := s.locker()
		lock := s.lock(locks, name)
		tokens.next(lock)
		s.unlock(lock)
		for i := range max(1, s.caps.Rounds/2) {
			s.unlock(s.lock(locks, s.name("other", i)))
		}
		lock = s.lock(locks, name)
		tokens.next(lock)
		s.unlock(lock)
		if err := closeWithin(s.ctx, locks); err != nil {
			s.Errorf("Close: %v", err)
		}
	}
}

// tokensRiseInAllModes checks that concurrent holders have distinct tokens.
func (s *stage) tokensRiseInAllModes() {
	one, two := s.locker(), s.locker()
	name := s.name()
	tokens := rising{s: s}
	for range 5 {
		for _, wanted := range s.wanted() {
			lock := s.lock(one, name, wanted.options...)
			tokens.next(lock)
			if wanted.fits(wanted) {
				together := s.lock(two, name, wanted.options...)
				tokens.next(together)
				s.unlock(together)
			}
			s.unlock(lock)
		}
	}
}
