package lockertest

import (
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func inputChecks() []check {
	return []check{
		{name: "bad_names", run: (*stage).badNames},
		{name: "odd_names", run: (*stage).oddNames},
		{name: "bad_options", run: (*stage).badOptions},
		{name: "require_class", run: (*stage).requireClass},
	}
}

// badNames checks that every call returns ErrName and nothing is held.
func (s *stage) badNames() {
	locks := s.locker()
	for _, name := range []string{
		"", strings.Repeat("x", holdfast.MaxName+1), "a\nb", "\x00", "tab\t", "del\x7f", "next\u0085line",
		"\xff", "cut\xe2\x82", "a\xc0\xafb",
	} {
		lock, err := locks.Lock(s.ctx, name)
		s.refused(lock, err, holdfast.ErrName)
		lock, err = locks.TryLock(s.ctx, name)
		s.refused(lock, err, holdfast.ErrName)
		all, err := locks.LockAll(s.ctx, []string{s.name(), name})
		s.want(err, holdfast.ErrName)
		if len(all) != 0 {
			s.Errorf("%d locks came with the error %v", len(all), err)
		}
	}
	for _, text := range []string{"line\nbreak", "\xff", strings.Repeat("x", holdfast.MaxText+1)} {
		lock, err := locks.Lock(s.ctx, s.name(), holdfast.Reason(text))
		s.refused(lock, err, holdfast.ErrName)
		lock, err = locks.Lock(s.ctx, s.name(), holdfast.Owner(text))
		s.refused(lock, err, holdfast.ErrName)
	}
	s.free(s.name())
}

// oddNames checks that well-formed names are all distinct.
func (s *stage) oddNames() {
	one, two := s.locker(), s.locker()
	prefix := s.name() + "/"
	var locks []*holdfast.Lock
	for _, odd := range []string{
		" ", "  ", "/", "//", ".", "..", "%2F", "?a=b&c", "#", "\"quoted\"", "{}", "*", "schlüssel", "ключ/замок",
		"錠", "\U0001F512", "\uFFFD", "e\u0301", "\u00e9", "null", "0", strings.Repeat("x", holdfast.MaxName-len(prefix)),
	} {
		lock, err := one.TryLock(s.ctx, prefix+odd)
		if err != nil {
			s.Errorf("TryLock of %q: %v", prefix+odd, err)
			continue
		}
		if lock.Name() != prefix+odd {
			s.Errorf("asked for %q, got %q", prefix+odd, lock.Name())
		}
		s.held(two, lock.Name())
		locks = append(locks, lock)
	}
	s.unlock(locks...)
	for _, lock := range locks {
		s.unlock(s.lock(two, lock.Name()))
	}
}

// badOptions checks that invalid options return ErrConflict before any request to the authority.
func (s *stage) badOptions() {
	locks := s.locker()
	for _, options := range [][]holdfast.Option{
		{holdfast.Slots(0, 3)}, {holdfast.Slots(4, 3)}, {holdfast.Slots(-1, 3)}, {holdfast.Slots(1, 0)},
		{holdfast.Slots(1, -1)}, {holdfast.Slots(1, holdfast.MaxCapacity+1)},
		{holdfast.Wait(0)}, {holdfast.Wait(-time.Second)}, {holdfast.Hold(0)}, {holdfast.Hold(-time.Second)},
		{holdfast.Shared(), holdfast.Slots(1, 2)}, {holdfast.Slots(1, 2), holdfast.Shared()},
	} {
		lock, err := locks.Lock(s.ctx, s.name(), options...)
		s.refused(lock, err, holdfast.ErrConflict)
		lock, err = locks.TryLock(s.ctx, s.name(), options...)
		s.refused(lock, err, holdfast.ErrConflict)
	}
	s.free(s.name())
}

// requireClass checks that the space's class is granted and a stronger one refused.
func (s *stage) requireClass() {
	locks := s.locker()
	name := s.name()
	for _, class := range []holdfast.Class{holdfast.Advisory, holdfast.Available, holdfast.Fenced} {
		lock, err := locks.Lock(s.ctx, name, holdfast.Require(class))
		if class <= s.caps.Class {
			if err != nil {
				s.Errorf("Require(%v) of a space that is %v: %v", class, s.caps.Class, err)
				continue
			}
			s.unlock(lock)
			continue
		}
		s.refused(lock, err, holdfast.ErrClass)
		lock, err = locks.TryLock(s.ctx, name, holdfast.Require(class))
		s.refused(lock, err, holdfast.ErrClass)
		all, err := locks.LockAll(s.ctx, []string{name}, holdfast.Require(class))
		s.want(err, holdfast.ErrClass)
		if len(all) != 0 {
			s.Errorf("%d locks came with the error %v", len(all), err)
		}
	}
	s.free(name)
}
