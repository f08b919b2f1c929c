package holdfast_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

func TestTokenInJSONIsAString(t *testing.T) {
	type row struct {
		Token holdfast.Token `json:"token"`
	}
	for _, tt := range []struct {
		token holdfast.Token
		want  string
	}{
		{1, `{"token":"1"}`},
		{7<<32 + 3, `{"token":"30064771075"}`},
		{math.MaxInt64, `{"token":"9223372036854775807"}`},
	} {
		got, err := json.Marshal(row{tt.token})
		if err != nil || string(got) != tt.want {
			t.Errorf("Marshal(%d) = %s, %v, want %s", tt.token, got, err, tt.want)
		}
		var back row
		if err := json.Unmarshal(got, &back); err != nil || back.Token != tt.token {
			t.Errorf("Unmarshal(%s) = %d, %v", got, back.Token, err)
		}
	}
	for _, bad := range []string{`{"token":5}`, `{"token":""}`, `{"token":"0"}`, `{"token":"-1"}`, `{"token":"5.0"}`, `{"token":" 5"}`} {
		back := row{Token: 9}
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("Unmarshal(%s) gives %d", bad, back.Token)
		} else if back.Token != 9 {
			t.Errorf("Unmarshal(%s) fails and changes the token to %d", bad, back.Token)
		}
	}
}

func TestParseToken(t *testing.T) {
	for _, token := range []holdfast.Token{1, 42, 1 << 32, math.MaxInt64} {
		if got, err := holdfast.ParseToken(token.String()); got != token || err != nil {
			t.Errorf("ParseToken(%q) = %d, %v", token.String(), got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "0x10", "1e3", "1_000", "9223372036854775808", "18446744073709551616", "٣"} {
		if got, err := holdfast.ParseToken(text); err == nil {
			t.Errorf("ParseToken(%q) = %d", text, got)
		} else if !strings.Contains(err.Error(), "want a decimal number from 1 to 9223372036854775807") {
			t.Errorf("ParseToken(%q): %v, which does not say what is allowed", text, err)
		}
	}
}
