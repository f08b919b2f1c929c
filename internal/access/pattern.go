package access

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
)

// step is one step of a pattern through a tree.
type step struct {
	kind stepKind
	text string // of a literal step
}

type stepKind uint8

const (
	literal stepKind = iota
	star             // any number of bytes, up to the end of the part
	deep             // any number of parts, each with the "/" after it
)

// checkNamePattern checks a pattern of names.
func checkNamePattern(pattern string) error {
	if err := checkVisible(pattern, holdfast.MaxName); err != nil {
		return err
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part != "**" && strings.Contains(part, "**") {
			return fmt.Errorf(`%s: "**" stands for whole parts between "/"; write "*" for characters within a part`, quote(pattern))
		}
	}
	return nil
}

// checkSpacePattern checks a pattern of spaces.
func checkSpacePattern(pattern string) error {
	if err := checkVisible(pattern, holdfast.MaxName); err != nil {
		return err
	}
	bare := strings.ReplaceAll(pattern, "*", "")
	if bare == "" {
		return nil
	}
	if holdfast.CheckSpace(bare) != nil {
		return fmt.Errorf(`%s matches no space; a space has 1 to 64 letters, digits, "-", "_" and ".", and "*" stands for any of them`, quote(pattern))
	}
	return nil
}

// squeeze returns a pattern without repeated "*", which mean the same as one where "*" matches all characters.
func squeeze(pattern string) string {
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	return pattern
}

// squeezeName returns a pattern of names without repeated "**", which mean the same as one.
func squeezeName(pattern string) string {
	parts := strings.Split(pattern, "/")
	kept := parts[:1]
	for _, part := range parts[1:] {
		if part != "**" || kept[len(kept)-1] != "**" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "/")
}

// starSteps appends the steps of a text in which each "*" is a star.
func starSteps(steps []step, text string) []step {
	for {
		before, after, found := strings.Cut(text, "*")
		steps = literalStep(steps, before)
		if !found {
			return steps
		}
		if len(steps) == 0 || steps[len(steps)-1].kind != star {
			steps = append(steps, step{kind: star})
		}
		text = after
	}
}

// literalStep appends text, to the last step if that is a literal one.
func literalStep(steps []step, text string) []step {
	switch last := len(steps) - 1; {
	case text == "":
	case last >= 0 && steps[last].kind == literal:
		steps[last].text += text
	default:
		steps = append(steps, step{literal, text})
	}
	return steps
}

// nameSteps returns the pattern of a space and one of names as steps for a text of the form SPACE/NAME, and whether all
// that is below its end matches as well: the pattern ends with "**".
func nameSteps(space, names string) (steps []step, below bool) {
	steps = starSteps(nil, space)
	parts := strings.Split(squeezeName(names), "/")
	if last := len(parts) - 1; parts[last] == "**" {
		parts, below = parts[:last], true
	}
	separated := false
	for _, part := range parts {
		if !separated {
			steps = literalStep(steps, "/")
		}
		if separated = part == "**"; separated {
			steps = append(steps, step{kind: deep})
			continue
		}
		steps = starSteps(steps, part)
	}
	return steps, below
}
