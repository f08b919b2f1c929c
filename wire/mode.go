package wire

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/wire/api"
)

// ToMode tells a mode to the other side.
func ToMode(mode holdfast.Mode) api.Mode { return api.Mode(mode) }

// FromMode reads a mode. The error is a bad_request that names the value.
func FromMode(mode api.Mode) (holdfast.Mode, error) {
	if mode < api.Mode_MODE_EXCLUSIVE || mode > api.Mode_MODE_SLOTS {
		return 0, Fail(CodeBadRequest, fmt.Sprintf("mode %d: want 0 (exclusive), 1 (shared) or 2 (slots)", mode))
	}
	return holdfast.Mode(mode), nil
}

// ToClass tells a safety class to the other side.
func ToClass(class holdfast.Class) api.Class { return api.Class(class) }

// FromClass reads a safety class. The error is a bad_request that names the value.
func FromClass(class api.Class) (holdfast.Class, error) {
	if class < api.Class_CLASS_ADVISORY || class > api.Class_CLASS_FENCED {
		return 0, Fail(CodeBadRequest, fmt.Sprintf("class %d: want 0 (advisory), 1 (available) or 2 (fenced)", class))
	}
	return holdfast.Class(class), nil
}
