package main

import (
	"fmt"
	"time"
)

// formatAge formats a span of time as a cell: the two largest units, or one where the second no longer matters, as in
// 3s, 5m12s, 45m, 6h5m, 20h, 2d4h and 40d. A negative span is 0s.
func formatAge(span time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case span < time.Second:
		return "0s"
	case span < time.Minute:
		return fmt.Sprintf("%ds", span/time.Second)
	case span < 10*time.Minute:
		return twoUnits(span, time.Minute, "m", time.Second, "s")
	case span < time.Hour:
		return fmt.Sprintf("%dm", span/time.Minute)
	case span < 10*time.Hour:
		return twoUnits(span, time.Hour, "h", time.Minute, "m")
	case span < day:
		return fmt.Sprintf("%dh", span/time.Hour)
	case span < 10*day:
		return twoUnits(span, day, "d", time.Hour, "h")
	}
	return fmt.Sprintf("%dd", span/day)
}

// twoUnits formats a span in a unit and a smaller one, which is left out if it is 0.
func twoUnits(span, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d%s", span/large, largeName)
	if rest := span % large / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, smallName)
	}
	return text
}
