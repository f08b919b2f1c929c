package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// statusCommand shows the state of a member, its view and its lockspaces.
func (p *program) statusCommand() *cli.Command {
	return &cli.Command{
		Name:        "status",
		Usage:       "show members, the view, and lockspaces with their authorities",
		UsageText:   name + " status [--output FORMAT] [flags]",
		Description: "With --output name it prints the names of the view's members; `" + name + " space list` lists lockspaces.",
		Flags:       append(listFlags(), memberFlags()...),
		Action:      p.status,
	}
}

func (p *program) status(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	status, err := askStatus(ctx, c)
	if err != nil {
		return err
	}
	return p.answer(c, status, func(o *output) []*table {
		more := slices.Concat(moreTables(o, status), []*table{missingTable(o, status), needTable(status), preemptTable(status)}, troubleTables(o, status))
		more = slices.DeleteFunc(more, func(t *table) bool { return len(t.cells) == 0 })
		return append([]*table{clusterTable(status), memberTable(o, status), spaceTable(o, status.Spaces)}, more...)
	})
}

// troubleTables show warnings, a slow disk, failed writes, the reasons for a bad view, and forced views.
func troubleTables(o *output, status *schema.Status) []*table {
	disk, unwritten, view := newTable("DISK OF", "SYNC"), newTable("STATE OF", "UNWRITTEN SINCE", "WHY").folded("WHY"), newTable("MEMBER", "STATE", "WHY").folded("WHY").states("STATE")
	if status.Disk != nil {
		disk.row(status.Member.Name, status.Disk.Sync.AsDuration().String())
	}
	if status.Unwritten != nil {
		unwritten.row(status.Member.Name, o.when(status.Unwritten.Since), status.Unwritten.Why)
	}
	if status.View.Why != "" {
		view.row(status.Member.Name, status.Member.State, status.View.Why)
	}
	warnings := newTable("WARNING OF", "WHAT")
	for _, sentence := range status.Warnings {
		warnings.row(status.Member.Name, sentence)
	}
	tables := []*table{warnings, disk, unwritten, view, accessTable(o, status), callerTable(o, status)}
	if status.View.Forced != nil {
		tables = append(tables, forcedTable(o, status.View.Forced))
	}
	return tables
}

// accessTable shows the policy of the answering member, if a file has it or something is wrong with it, and the members
// that have another one.
func accessTable(o *output, status *schema.Status) *table {
	t := newTable("ACCESS", "POLICY", o.since(), "DIFFERS AT", "FAULT").rare("DIFFERS AT", "FAULT").long("FAULT")
	a := status.Access
	if a != nil && (o.wide || a.Source != defaultAccess || a.Fault != "" || len(status.AccessDiffers) > 0) {
		t.row(a.Source, a.Digest, o.age(a.Since), strings.Join(status.AccessDiffers, ","), a.Fault)
	}
	return t
}

// callerTable shows what callers use of the answering member: all of the list with --wide, and otherwise those that
// use half of a quota or more.
func callerTable(o *output, status *schema.Status) *table {
	t := newTable("CALLER", "SESSIONS", "LOCKS", "WAITERS")
	for _, c := range status.Callers {
		uses := [][2]int32{{c.Sessions, c.SessionsQuota}, {c.Locks, c.LocksQuota}, {c.Waiters, c.WaitersQuota}}
		cells, large := []string{c.Caller}, false
		for _, use := range uses {
			text := strconv.Itoa(int(use[0]))
			if use[1] > 0 {
				text += " of " + strconv.Itoa(int(use[1]))
				large = large || 2*int64(use[0]) >= int64(use[1])
			}
			cells = append(cells, text)
		}
		if o.wide || large {
			t.row(cells...)
		}
	}
	return t
}

// defaultAccess is the source of the policy of a member without an access file.
const defaultAccess = "default"

func clusterTable(status *schema.Status) *table {
	t := newTable("CLUSTER", "VIEW", "COORDINATOR", "ANSWERED BY", "VERSION").long("VERSION")
	t.row(status.Cluster, strconv.FormatUint(status.View.Number, 10), status.View.Coordinator, status.Member.Name, status.Version)
	return t
}

func memberTable(o *output, status *schema.Status) *table {
	t := newTable("MEMBER", "ROLE", "ADDRESS", "HTTP", "STATE", "ELECTION", o.since()).wide("HTTP").states("STATE", "ELECTION")
	for _, member := range status.View.Members {
		role := "voter"
		if !member.Voter {
			role = "guest"
		}
		t.row(member.Name, role, member.Address, member.Http, member.State, member.Election, o.age(member.Since))
	}
	return t
}

// missingTable lists the missing voters.
func missingTable(o *output, status *schema.Status) *table {
	t := newTable("MISSING SINCE", "VOTER", "ADDRESS")
	for _, member := range status.Missing {
		t.row(o.when(member.Since), member.Name, member.Address)
	}
	return t
}

// preemptTable lists the voters in the order in which they would coordinate, with their ids; none if seniority decides.
func preemptTable(status *schema.Status) *table {
	t := newTable("PREEMPT", "VOTER", "ID")
	if !slices.ContainsFunc(status.Spaces, func(space *schema.Space) bool { return space.Options["preempt"] == "true" }) {
		return t
	}
	voters := slices.DeleteFunc(slices.Clone(status.View.Members), func(member *schema.Member) bool { return !member.Voter })
	slices.SortFunc(voters, func(a, b *schema.Member) int { return cmp.Compare(b.Id, a.Id) })
	for i, member := range voters {
		t.row(strconv.Itoa(i+1), member.Name, strconv.FormatUint(member.Id, 10))
	}
	return t
}

// needTable lists the members that each space needs; none if no space depends on a vote of several.
func needTable(status *schema.Status) *table {
	t := newTable("SPACE", "NEEDS")
	for _, space := range status.Spaces {
		if status.Expected > 1 {
			t.row(space.Name, space.Needs)
		}
	}
	return t
}

func spaceTable(o *output, spaces []*schema.Space) *table {
	t := newTable("SPACE", "PROTOCOL", "CLASS", "STATE", "AUTHORITY", "REIGN", "LOCKS", "WAITERS", "SESSIONS", "UNTIL", "WHY").
		wide("REIGN", "SESSIONS").rare("UNTIL", "WHY").folded("WHY").states("STATE")
	for _, space := range spaces {
		t.row(space.Name, space.Protocol, holdfast.Class(space.Class).String(), space.State, strings.Join(space.Authority, ","),
			strconv.FormatUint(space.Reign, 10), strconv.Itoa(int(space.Locks)), strconv.Itoa(int(space.Waiters)),
			strconv.Itoa(int(space.Sessions)), o.when(space.Until), space.Why)
	}
	return t
}

// moreTables show rare properties of spaces: which member names the authority, automatic settings, suspensions,
// handovers under way, awaited replies of members, elected leaders and their candidates, and closed instances.
func moreTables(o *output, status *schema.Status) []*table {
	elders := newTable("SPACE", "ELDER", "AUTHORITY", "REIGN", "VERSION")
	options := newTable("SPACE", "OPTIONS")
	suspended := newTable("SUSPENDED", "BY", "THROUGH", o.since(), "REASON").long("BY", "THROUGH", "REASON")
	transfers := newTable("TRANSFER", "FROM", "TO", o.since())
	awaited := newTable("SPACE", "WAITS", "FOR_REPLY_OF", "REQUESTS")
	leaders := newTable("SPACE", "LEADERS", "EPOCH", "VIEW")
	candidates := newTable("SPACE", "CANDIDATE", "PRIORITY", "ELIGIBLE", "WHY")
	kept := newTable("SPACE", "STORE", "SETTINGS")
	closed := newTable("CLOSED", "ON")
	for _, space := range status.Spaces {
		if space.Elder != "" {
			elders.row(space.Name, space.Elder, strings.Join(space.Authority, ","),
				strconv.FormatUint(space.Reign, 10), strconv.FormatUint(space.Version, 10))
		}
		if shown := formatOptions(space.Options); shown != "" {
			options.row(space.Name, shown)
		}
		if space.Store != "" {
			kept.row(space.Name, space.Store, space.Settings)
		}
		if g := space.Suspension; g != nil {
			suspended.row(space.Name, cmp.Or(g.Client, g.Owner), g.Member, o.age(g.Since), g.Reason)
		}
		for _, h := range space.Transfers {
			transfers.row(space.Name, h.From, h.To, o.age(h.Since))
		}
		for _, a := range space.Awaited {
			awaited.row(space.Name, a.Member, a.Reply, strconv.Itoa(int(a.Requests)))
		}
		if len(space.Candidates) > 0 {
			leaders.row(space.Name, strings.Join(space.Authority, ","), strconv.FormatUint(space.Reign, 10), strconv.FormatUint(space.Version, 10))
		}
		for _, c := range space.Candidates {
			candidates.row(space.Name, c.Member, formatPriority(int(c.Priority)), strconv.FormatBool(c.Eligible), c.Why)
		}
		for _, member := range space.ClosedAt {
			closed.row(space.Name, member)
		}
	}
	return []*table{elders, options, kept, suspended, transfers, awaited, leaders, candidates, closed}
}

// formatPriority formats a member's eligibility, as serve accepts it.
func formatPriority(priority int) string {
	switch priority {
	case host.NoCandidate:
		return "off"
	case 0: // a leader stays, with any priority
		return "-"
	}
	return strconv.Itoa(priority)
}

// formatOptions formats a space's options, except default ones about partitions and coordinators.
func formatOptions(options map[string]string) string {
	var shown []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if value := options[name]; !(name == "partition" && value == "primary" || name == "preempt" && value == "false") {
			shown = append(shown, name+"="+value)
		}
	}
	return strings.Join(shown, " ")
}
