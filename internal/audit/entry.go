package audit

import (
	"encoding/json"
	"time"
)

// The events of entries.
const (
	Begun           = "begun"           // an operator's call that changes something begins
	Called          = "call"            // an operator's call has ended
	Denied          = "denied"          // the policy does not allow a call
	Unauthenticated = "unauthenticated" // a caller's credentials are not valid
	Policy          = "policy"          // another policy applies, or a changed policy file has a fault
	TokenUsed       = "token"           // a token is used for the first time within an hour
	Granted         = "granted"         // a lock is granted
	Released        = "released"        // a lock is released
	Lost            = "lost"            // a lock has ended otherwise
	Gap             = "gap"             // entries are missing; Detail says how many
)

// Entry is one line of the audit log. The caller's own words are in Reason alone; Subject and Address never come from a
// header that the caller chooses.
type Entry struct {
	Time    time.Time `json:"time"`
	Member  string    `json:"member"`
	Event   string    `json:"event"`
	Subject string    `json:"subject,omitempty"` // package internal/access describes them
	Address string    `json:"address,omitempty"`
	Call    string    `json:"call,omitempty"` // of the network API: Break, Suspend
	Verb    string    `json:"verb,omitempty"`
	Space   string    `json:"space,omitempty"`
	Name    string    `json:"name,omitempty"`
	Token   uint64    `json:"token,omitempty,string"` // fencing token
	Reason  string    `json:"reason,omitempty"`       // in the caller's words
	Result  string    `json:"result,omitempty"`       // ok, or the code of the problem
	Detail  string    `json:"detail,omitempty"`       // a sentence about the result
	Request string    `json:"request,omitempty"`      // id of the request
}

// frequent reports whether there may be very many entries of this event.
func (e *Entry) frequent() bool { return e.Event == Granted || e.Event == Released || e.Event == Lost }

// line returns the entry as a line of the log. Strings are cut and cleaned by their makers; JSON escapes what is left.
func (e *Entry) line() []byte {
	text, err := json.Marshal(e)
	if err != nil { // strings, numbers and a time always encode, except for a time beyond the year 9999
		text, _ = json.Marshal(&Entry{Member: e.Member, Event: Gap, Detail: "an entry cannot be written: " + err.Error()})
	}
	return append(text, '\n')
}
