package main

import (
	"testing"
	"time"
)

func TestFormatAge(t *testing.T) {
	const day = 24 * time.Hour
	for span, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 999 * time.Millisecond: "0s", 3700 * time.Millisecond: "3s", 59 * time.Second: "59s",
		time.Minute: "1m", 5*time.Minute + 12*time.Second: "5m12s", 10*time.Minute - 1: "9m59s", 45*time.Minute + 50*time.Second: "45m",
		time.Hour: "1h", 6*time.Hour + 5*time.Minute: "6h5m", 20*time.Hour + 30*time.Minute: "20h",
		day: "1d", 2*day + 4*time.Hour: "2d4h", 10 * day: "10d", 400*day + time.Hour: "400d",
	} {
		if got := formatAge(span); got != want {
			t.Errorf("formatAge(%v) = %s, want %s", span, got, want)
		}
	}
}
