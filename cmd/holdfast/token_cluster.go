package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// createTokenEverywhere makes a token that all members take. They get its digest alone.
func (p *program) createTokenEverywhere(ctx context.Context, c *cli.Command, wanted string, life time.Duration) error {
	places, err := membersOf(ctx, c)
	if err != nil {
		return err
	}
	known, err := everywhere(ctx, c, places, func(ctx context.Context, admin *client.Admin) (*schema.AccessTokens, error) { return admin.Tokens(ctx) })
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(known, func(a replyOf[*schema.AccessTokens]) bool { return hasToken(a, wanted) }); at >= 0 {
		return &exitError{exitBadData, fmt.Errorf("%s: member %s has a token %q already; choose another name, or revoke that token first with '%s token revoke %s'",
			calledAs(c), known[at].name, wanted, name, wanted)}
	}
	places = nil
	for _, a := range known {
		if a.err == nil {
			places = append(places, a.place)
		}
	}
	secret, sum := token.New()
	added, err := everywhere(ctx, c, places, func(ctx context.Context, admin *client.Admin) (*schema.AccessToken, error) {
		return admin.AddToken(ctx, wanted, sum, life)
	})
	if err != nil {
		return err
	}
	took := slices.DeleteFunc(slices.Clone(added), func(a replyOf[*schema.AccessToken]) bool { return a.err != nil })
	without := len(known) - len(took)
	refused := cmp.Or(refusals(p, c, added), refusals(p, c, known))
	if len(took) == 0 {
		return refused
	}
	if err := p.handOver(ctx, c, secret, took); err != nil {
		return err
	}
	if without > 0 {
		p.say("%s: %d of %d members do not take the token %q, and this command cannot be repeated with the same name: "+
			"revoke it with '%s token revoke %s' and create it anew when all members can be reached, or copy tokens.yaml of another member there",
			calledAs(c), without, len(known), wanted, name, wanted)
	}
	return refused
}

func hasToken(a replyOf[*schema.AccessTokens], wanted string) bool {
	return a.err == nil && slices.ContainsFunc(a.answer.Tokens, func(one *schema.AccessToken) bool { return one.Name == wanted })
}

// handOver prints the secret, and which members take it. A secret that cannot be printed is revoked.
func (p *program) handOver(ctx context.Context, c *cli.Command, secret string, took []replyOf[*schema.AccessToken]) error {
	created := took[0].answer
	if _, err := fmt.Fprintln(p.stdout, secret); err != nil {
		err = fmt.Errorf("%s: write the secret to standard output: %w; the token %q is revoked again", calledAs(c), err, created.Name)
		return &exitError{exitInternal, errors.Join(err, p.revokeAgain(ctx, c, created.Name, took))}
	}
	for _, a := range took {
		p.say("%s: member %s takes the token %q", calledAs(c), a.name, created.Name)
	}
	until := "it does not expire"
	if created.Expires != nil {
		until = "it expires at " + created.Expires.AsTime().Format(time.RFC3339)
	}
	p.say("created the token %q; %s; its secret cannot be shown again", created.Name, until)
	return nil
}

// revokeAgain revokes a token at the members that have taken it.
func (p *program) revokeAgain(ctx context.Context, c *cli.Command, created string, took []replyOf[*schema.AccessToken]) error {
	places := make([]place, len(took))
	for i, a := range took {
		places[i] = a.place
	}
	answers, err := everywhere(ctx, c, places, revocation(created))
	return cmp.Or(err, refusals(p, c, answers))
}

func revocation(revoked string) func(context.Context, *client.Admin) (*schema.AccessToken, error) {
	return func(ctx context.Context, admin *client.Admin) (*schema.AccessToken, error) {
		return admin.RevokeToken(ctx, revoked)
	}
}

// revokeTokenEverywhere revokes a token at all members.
func (p *program) revokeTokenEverywhere(ctx context.Context, c *cli.Command, revoked string) error {
	places, err := membersOf(ctx, c)
	if err != nil {
		return err
	}
	answers, err := everywhere(ctx, c, places, revocation(revoked))
	if err != nil {
		return err
	}
	all := len(answers)
	answers = slices.DeleteFunc(answers, func(a replyOf[*schema.AccessToken]) bool { return errors.Is(a.err, holdfast.ErrNotHeld) })
	if len(answers) == 0 && all > 0 {
		return &exitError{exitBadData, fmt.Errorf("%s: no member has a token %q; list the names with '%s token list'", calledAs(c), revoked, name)}
	}
	refused := refusals(p, c, answers)
	if refused != nil {
		p.say("%s: a member that has the token %q takes it until it is revoked there; repeat the command when all members can be reached", calledAs(c), revoked)
	}
	return refused
}

// knownToken is a token, and the members that take it.
type knownToken struct {
	*schema.AccessToken
	at []string
}

// listTokensEverywhere lists the tokens of all members.
func (p *program) listTokensEverywhere(ctx context.Context, c *cli.Command, now time.Time) error {
	places, err := membersOf(ctx, c)
	if err != nil {
		return err
	}
	answers, err := everywhere(ctx, c, places, func(ctx context.Context, admin *client.Admin) (*schema.AccessTokens, error) { return admin.Tokens(ctx) })
	if err != nil {
		return err
	}
	o, tokens, count := p.output(c), tokensIn(answers), 0
	for _, a := range answers {
		if a.err == nil {
			count++
		}
	}
	if o.format == formatTable {
		err = o.print(tokenTable(o, tokens, count, now))
	} else {
		err = o.tokens(tokens)
	}
	return cmp.Or(err, refusals(p, c, answers))
}

// tokensIn puts the tokens of several members together, by name.
func tokensIn(answers []replyOf[*schema.AccessTokens]) (tokens []*knownToken) {
	byName := map[string]*knownToken{}
	for _, a := range answers {
		if a.err != nil {
			continue
		}
		for _, one := range a.answer.Tokens {
			k := byName[one.Name]
			if k == nil {
				k = &knownToken{AccessToken: one}
				byName[one.Name] = k
				tokens = append(tokens, k)
			}
			if one.Used != nil && (k.Used == nil || one.Used.AsTime().After(k.Used.AsTime())) {
				k.Used = one.Used
			}
			k.at = append(k.at, a.name)
		}
	}
	slices.SortFunc(tokens, func(a, b *knownToken) int { return strings.Compare(a.Name, b.Name) })
	return tokens
}

// tokenTable lists tokens. Which members take them is shown if not all do.
func tokenTable(o *output, tokens []*knownToken, members int, now time.Time) *table {
	t := newTable("NAME", "STATE", "CREATED", "EXPIRES", "USED", "MEMBERS").states("STATE").rare("USED", "MEMBERS")
	for _, one := range tokens {
		state, at := "valid", ""
		if one.Expires != nil && !now.Before(one.Expires.AsTime()) {
			state = "expired"
		}
		if o.wide || len(one.at) < members {
			at = fmt.Sprintf("%d/%d (%s)", len(one.at), members, strings.Join(one.at, ","))
		}
		t.row(one.Name, state, formatTime(one.Created), formatTime(one.Expires), o.when(one.Used), at)
	}
	return t
}

// tokens prints tokens in a format that is no table.
func (o *output) tokens(tokens []*knownToken) error {
	for _, one := range tokens {
		if o.format == formatNames {
			if err := o.names([]string{one.Name}); err != nil {
				return err
			}
			continue
		}
		document, err := extended(one.AccessToken, "members", one.at)
		if err != nil {
			return err
		}
		if err := o.document(document); err != nil {
			return err
		}
	}
	return nil
}
