package api

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// ToMode converts a mode to the schema.
func ToMode(mode holdfast.Mode) schema.Mode { return schema.Mode(mode) }

// FromMode converts a mode from the schema. The error is a bad_request that names the value.
func FromMode(mode schema.Mode) (holdfast.Mode, error) {
	if mode < schema.Mode_MODE_EXCLUSIVE || mode > schema.Mode_MODE_SLOTS {
		return 0, Fail(CodeBadRequest, fmt.Sprintf("mode %d: want 0 (exclusive), 1 (shared) or 2 (slots)", mode))
	}
	return holdfast.Mode(mode), nil
}

// ToClass converts a safety class to the schema.
func ToClass(class holdfast.Class) schema.Class { return schema.Class(class) }

// FromClass converts a safety class from the schema. The error is a bad_request that names the value.
func FromClass(class schema.Class) (holdfast.Class, error) {
	if class < schema.Class_CLASS_ADVISORY || class > schema.Class_CLASS_FENCED {
		return 0, Fail(CodeBadRequest, fmt.Sprintf("class %d: want 0 (advisory), 1 (available) or 2 (fenced)", class))
	}
	return holdfast.Class(class), nil
}
