package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

func (p *program) accessShowCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show how the members know this client, and what it may do",
		UsageText: name + " access show [--output FORMAT] [flags]",
		Description: "Prints the subject that logs, listings and the audit log name, the policy of each member, the rules that apply to\n" +
			"the subject, and its limits. Members with the same digest decide alike. Without an access file no rule is shown:\n" +
			"everyone may lock and read, and NEAR clients, those on the member's machine, may do everything.",
		Flags:  append(tableFlags(), memberFlags()...),
		Action: p.showAccess,
	}
}

func (p *program) showAccess(ctx context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return usageError(calledAs(c), "argument %q: the command takes none", c.Args().First())
	}
	own, err := ask(ctx, c, whoAmI)
	if err != nil {
		return err
	}
	o := p.output(c)
	if o.format != formatTable {
		return o.document(own)
	}
	subject := newTable("SUBJECT", "GROUPS", "NEAR").long("SUBJECT", "GROUPS").rare("GROUPS")
	subject.row(own.Subject, strings.Join(own.Groups, " "), yesOrNo(own.Near))
	tables := []*table{subject, policies(ctx, c, o, own)}
	if rules := ruleTable(own); len(rules.cells) > 0 {
		tables = append(tables, rules)
	}
	if q := own.Quota; q.GetSessions()+q.GetLocks()+q.GetWaiters()+q.GetRequestsPerSecond() > 0 {
		limits := newTable("SESSIONS", "LOCKS", "WAITERS", "REQUESTS/S")
		limits.row(limitOf(q.Sessions), limitOf(q.Locks), limitOf(q.Waiters), limitOf(q.RequestsPerSecond))
		tables = append(tables, limits)
	}
	return o.print(tables...)
}

func whoAmI(ctx context.Context, admin *client.Admin) (*schema.WhoAmI, error) {
	return admin.WhoAmI(ctx)
}

// policies lists the policy of each member; that of the answering one alone if the client may not see the members.
func policies(ctx context.Context, c *cli.Command, o *output, own *schema.WhoAmI) *table {
	t := newTable("MEMBER", "POLICY", "DIGEST", o.since(), "FAULT").long("POLICY", "FAULT").rare("FAULT")
	var answers []replyOf[*schema.WhoAmI]
	places, err := membersOf(ctx, c)
	if err == nil {
		answers, err = everywhere(ctx, c, places, whoAmI)
	}
	if err != nil {
		answers = []replyOf[*schema.WhoAmI]{{answer: own}}
	}
	for _, a := range answers {
		if a.err != nil {
			t.row(a.name, "", "", "", plain(a.err.Error()))
			continue
		}
		policy := a.answer.Policy
		t.row(a.name, policy.Source, policy.Digest, o.age(policy.Since), policy.Fault)
	}
	return t
}

// ruleTable lists the rules that apply to the client, in the order of the policy.
func ruleTable(own *schema.WhoAmI) *table {
	t := newTable("ROLE", "TO", "SPACE", "NAMES", "VERBS").long("TO", "NAMES")
	for _, rule := range own.Rules {
		t.row(rule.Role, rule.To, rule.Space, strings.Join(rule.Names, " "), strings.Join(rule.Verbs, ","))
	}
	return t
}

// limitOf formats a limit, of which 0 is none.
func limitOf(limit int32) string {
	if limit == 0 {
		return ""
	}
	return strconv.Itoa(int(limit))
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
