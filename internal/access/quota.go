package access

// Quota is how much of a member one subject may use. A field that is 0 is the default, which the member chooses.
type Quota struct {
	Sessions          int
	Locks             int
	Waiters           int
	RequestsPerSecond int
}

// quota is an entry of a file.
type quota struct {
	line int
	to   []string
	Quota
}

// Quota returns the quota of a subject: that of the first entry of the file that matches its name or one of its further
// names, as a whole. What that entry leaves out has its default, also where a later entry has it. So exceptions come
// first, and an entry to "*" last.
func (p *Policy) Quota(s Subject) Quota {
	if p.builtin != nil || len(p.quotas) == 0 {
		return Quota{}
	}
	var found search
	s.collect(&found, p.quoted)
	if ids := found.collected(); len(ids) > 0 {
		return p.quotas[ids[0]-1].Quota
	}
	return Quota{}
}
