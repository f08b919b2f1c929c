package api

// ForceView asks one member to make a view without the quorum that is lost for good.
type ForceView struct {
	Members []string // names of the voters that the view shall have, the member itself among them
	Reason  string   // why, for the log
	By      string   // who does it, for the log
	Confirm string   // Code of the ForcePlan that was agreed to
}

// ForcePlan is what a forced view would be, as one member knows it: the facts that the
// caller that forces it must have read.
type ForcePlan struct {
	Member      string            `json:"member"` // who answers
	Started     Time              `json:"started"`
	View        uint64            `json:"view,string"` // the newest that the member knows
	Epoch       uint64            `json:"epoch,string"`
	Coordinator string            `json:"coordinator"` // of that view
	Places      List[ForcedPlace] `json:"places"`      // of that view, in order of seniority
	Named       List[string]      `json:"named"`       // the voters of the view to be
	Rivals      List[string]      `json:"rivals"`      // the voters not named: if these are alive, two may hold one lock
	Wait        Duration          `json:"wait"`        // from the forced view to its first grant
	Spaces      List[ForcedSpace] `json:"spaces"`      // what becomes of each
	Code        string            `json:"code"`        // what confirms this plan, and no other
}

// ForcedPlace is a member of the view that a forced one would replace.
type ForcedPlace struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"`
	Named   bool   `json:"named"`
	Alive   bool   `json:"alive"`
	Heard   Time   `json:"heard,omitzero"` // when it was heard of last; left out if never since Started
}

// ForcedSpace says what becomes of a space under a forced view.
type ForcedSpace struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Serves   bool   `json:"serves"`        // it serves again, under that view
	Why      string `json:"why,omitempty"` // why it does not, and what to do
}

// ForcedView is a view that an operator has forced.
type ForcedView struct {
	View     uint64       `json:"view,string"`
	Replaced uint64       `json:"replaced,string"` // the number of the view that it follows
	Members  List[string] `json:"members"`
	Reason   string       `json:"reason"`
	By       string       `json:"by"`
	Time     Time         `json:"time"`
	From     Time         `json:"from,omitzero"` // when it grants, as far as it was known then
	// Spaces says what becomes of each; left out at members through which it was not forced.
	Spaces List[ForcedSpace] `json:"spaces,omitempty"`
}
