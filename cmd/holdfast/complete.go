package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/sim"
)

// candidate is a word that a typed one may become.
type candidate struct{ word, about string }

// completeLimit is how long a member may take to answer a question for a completion.
const completeLimit = 500 * time.Millisecond

// completeMost is the largest number of names that are offered.
const completeMost = 500

// typed is a line of arguments, up to the word that is being typed.
type typed struct {
	command *cli.Command
	path    []string // the names of the command and of those above it
	asking  []string // its flags for the member and the lockspace, as arguments
	words   []string // its other arguments
	flag    cli.Flag // the flag whose value is being typed
	dashes  int      // how many "--" there were
	current string
}

// complete returns what the last of the words of a line may become. The words do not have the program's name. If the
// member does not answer, it adds nothing: a line that is being typed is no place for an error.
func (p *program) complete(ctx context.Context, words []string) []candidate {
	t := parseTyped(p.root(), words)
	if t == nil {
		return nil
	}
	offered, prefix := p.offered(ctx, t), t.current
	if flag, value, found := strings.Cut(t.current, "="); found && t.flag != nil && strings.HasPrefix(flag, "--") {
		prefix = value
		for i := range offered {
			offered[i].word = flag + "=" + offered[i].word
		}
		prefix = flag + "=" + value
	}
	return slices.DeleteFunc(offered, func(c candidate) bool {
		return !strings.HasPrefix(c.word, prefix) || slices.Contains(t.words, c.word)
	})
}

// parseTyped finds the command of a line; nil if it has no such command.
func parseTyped(root *cli.Command, words []string) *typed {
	t := &typed{command: root}
	last := len(words) - 1
	for i := 0; i < last; i++ {
		word := words[i]
		switch {
		case word == "--":
			t.dashes++
		case t.dashes == 0 && len(word) > 1 && word[0] == '-':
			flag, _, hasValue := strings.Cut(word, "=")
			f := t.flagNamed(strings.TrimLeft(flag, "-"))
			if f == nil {
				continue
			}
			args := []string{word}
			if takesValue(f) && !hasValue {
				if i++; i == last {
					t.flag = f
					break
				}
				args = append(args, words[i])
			}
			if slices.Contains(askingFlags, f.Names()[0]) {
				t.asking = append(t.asking, args...)
			}
		case len(t.command.Commands) > 0 && len(t.words) == 0:
			if t.command = t.command.Command(word); t.command == nil {
				return nil
			}
			t.path = append(t.path, word)
		default:
			t.words = append(t.words, word)
		}
	}
	t.current = words[last]
	if flag, _, found := strings.Cut(t.current, "="); found && t.flag == nil && t.dashes == 0 && strings.HasPrefix(flag, "--") {
		t.flag = t.flagNamed(flag[2:])
	}
	return t
}

// askingFlags are the flags that say which member is asked, and about which lockspace.
var askingFlags = []string{"server", "space", "store", "store-options", "tls-ca", "tls-cert", "tls-key", "tls-server-name", "token-file", "insecure-files"}

// flagNamed returns a flag of the command; nil if it has none of that name.
func (t *typed) flagNamed(flag string) cli.Flag {
	for _, f := range t.command.Flags {
		if slices.Contains(f.Names(), flag) {
			return f
		}
	}
	return nil
}

// prefix returns what the word, or the value of the flag, begins with so far.
func (t *typed) prefix() string {
	if _, value, found := strings.Cut(t.current, "="); found && t.flag != nil && strings.HasPrefix(t.current, "--") {
		return value
	}
	return t.current
}

// asks reports whether the command asks a member.
func (t *typed) asks() bool { return t.flagNamed("server") != nil }

// takesValue reports whether a flag has a value.
func takesValue(f cli.Flag) bool {
	doc, is := f.(cli.DocGenerationFlag)
	return is && doc.TakesValue()
}

// offered returns the words that are possible at this place, of which some may not begin as the typed one does.
func (p *program) offered(ctx context.Context, t *typed) []candidate {
	switch {
	case t.flag != nil:
		return p.flagValues(ctx, t)
	case t.dashes == 0 && strings.HasPrefix(t.current, "-"):
		return flagsOffered(t.command)
	case len(t.command.Commands) > 0 && len(t.words) == 0:
		return commandsOffered(t.command)
	}
	return p.argumentsOffered(ctx, t)
}

// commandsOffered returns the commands below another that its help lists.
func commandsOffered(c *cli.Command) (offered []candidate) {
	for _, below := range c.Commands {
		if !below.Hidden {
			offered = append(offered, candidate{below.Name, below.Usage})
		}
	}
	return offered
}

// flagsOffered returns the long flags of a command.
func flagsOffered(c *cli.Command) (offered []candidate) {
	for _, f := range c.Flags {
		if doc, is := f.(cli.DocGenerationFlag); is && isShown(f) {
			offered = append(offered, candidate{"--" + f.Names()[0], strings.ReplaceAll(doc.GetUsage(), "`", "")})
		}
	}
	return append(offered, candidate{"--help", "show help"})
}

// isShown reports whether the help lists a flag.
func isShown(f cli.Flag) bool {
	visible, is := f.(cli.VisibleFlag)
	return !is || visible.IsVisible()
}

// fixedValues are the values of flags that have few.
var fixedValues = map[string][]string{
	"deadlock":        {"ignore", "fail"},
	"require":         {"fenced", "available", "advisory"},
	"log-level":       {"debug", "info", "warn", "error"},
	"log-format":      {"text", "json"},
	"tls-client-auth": {"require", "verify", "none"},
}

// flagValues returns the values that a flag may have.
func (p *program) flagValues(ctx context.Context, t *typed) []candidate {
	switch flag := t.flag.Names()[0]; {
	case fixedValues[flag] != nil:
		return wordsOffered(fixedValues[flag])
	case flag == "output":
		return wordsOffered(slices.DeleteFunc([]string{formatTable, formatJSON, formatYAML, formatNames}, func(format string) bool {
			form, is := t.flag.(*cli.StringFlag)
			return !is || form.Validator == nil || form.Validator(format) != nil
		}))
	case flag == "protocol":
		return wordsOffered(strings.Split(sim.Names(), ", "))
	case !t.asks():
		return nil
	case flag == "space":
		return p.asked(ctx, t, spacesOffered)
	case flag == "server":
		return p.asked(ctx, t, serversOffered)
	case flag == "members", flag == "member":
		return p.asked(ctx, t, membersOffered)
	case flag == "prefix":
		return p.asked(ctx, t, p.namesOffered)
	}
	return nil
}

func wordsOffered(words []string) (offered []candidate) {
	for _, word := range words {
		offered = append(offered, candidate{word: word})
	}
	return offered
}

// argumentsOffered returns the arguments that a command may have at this place.
func (p *program) argumentsOffered(ctx context.Context, t *typed) []candidate {
	first := len(t.words) == 0
	switch path := strings.Join(t.path, " "); path {
	case "lock", "elect":
		if t.dashes == 0 || t.dashes == 1 && first {
			return p.asked(ctx, t, p.namesOffered)
		}
	case "acquire":
		return p.asked(ctx, t, p.namesOffered)
	case "show", "observe", "explain", "break", "release", "value":
		if first {
			return p.asked(ctx, t, p.namesOffered)
		}
	case "suspend", "resume", "space open", "space close":
		if first {
			return p.asked(ctx, t, spacesOffered)
		}
	case "transfer":
		switch len(t.words) {
		case 0:
			return p.asked(ctx, t, spacesOffered)
		case 1:
			return p.asked(ctx, t, membersOffered)
		}
	case "member add", "member promote", "member remove":
		if first {
			return p.asked(ctx, t, membersOffered)
		}
	case "session end":
		if first {
			return p.asked(ctx, t, sessionsOffered)
		}
	case "token revoke":
		if first {
			return p.asked(ctx, t, tokensOffered)
		}
	case "help":
		if first {
			return append(commandsOffered(p.root()), candidate{exitCodesTopic, "the table of exit codes"})
		}
	case "completion":
		if first {
			return wordsOffered([]string{"bash", "zsh", "fish"})
		}
	}
	return nil
}

// question asks what may be at a place where a word that is being typed begins with a text.
type question func(ctx context.Context, c *cli.Command, prefix string) ([]candidate, error)

// asked returns the answer to a question. The parser reads the flags that were typed and the variables, as for the
// command itself.
func (p *program) asked(ctx context.Context, t *typed, question question) (offered []candidate) {
	ctx, cancel := context.WithTimeout(ctx, completeLimit)
	defer cancel()
	root := p.root()
	command := root
	for _, word := range t.path {
		command = command.Command(word)
	}
	command.Action = func(ctx context.Context, c *cli.Command) (err error) {
		offered, err = question(ctx, c, t.prefix())
		return err
	}
	if root.Run(ctx, slices.Concat([]string{name}, t.path, t.asking)) != nil {
		return nil
	}
	return offered
}

// namesOffered asks the member or the store for the names of locks that are held or waited for. A name that begins with
// a dash would be taken for a flag.
func (p *program) namesOffered(ctx context.Context, c *cli.Command, prefix string) (offered []candidate, err error) {
	return offered, p.withOperator(ctx, c, func(ctx context.Context, o operator) error {
		page, err := o.List(ctx, spaceOf(c), prefix, "", completeMost)
		if err != nil {
			return err
		}
		for _, lock := range page.Locks {
			if !strings.HasPrefix(lock.Name, "-") {
				offered = append(offered, candidate{lock.Name, visible(heldBy(lock))})
			}
		}
		return nil
	})
}

// heldBy describes a lock in a few words.
func heldBy(lock *schema.Lock) string {
	if len(lock.Holders) == 0 {
		return "free, with waiters"
	}
	holder := lock.Holders[0].Owner
	if holder == "" {
		holder = lock.Holders[0].Client
	}
	return stateOf(lock) + " by " + holder
}

// seenBy asks the member in c's flags for its status. Its --timeout does not matter.
func seenBy(ctx context.Context, c *cli.Command) (status *schema.Status, err error) {
	err = askLong(ctx, c, func(ctx context.Context, admin *client.Admin) (err error) {
		status, err = admin.Status(ctx)
		return err
	})
	return status, err
}

func spacesOffered(ctx context.Context, c *cli.Command, _ string) (offered []candidate, err error) {
	status, err := seenBy(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, space := range status.Spaces {
		offered = append(offered, candidate{space.Name, space.Protocol + ", " + holdfast.Class(space.Class).String() + ", " + space.State})
	}
	return offered, nil
}

func membersOffered(ctx context.Context, c *cli.Command, _ string) (offered []candidate, err error) {
	status, err := seenBy(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, member := range status.View.Members {
		offered = append(offered, candidate{member.Name, member.Address + ", " + member.State})
	}
	return offered, nil
}

// sessionsOffered asks the members for the ids of sessions.
func sessionsOffered(ctx context.Context, c *cli.Command, _ string) (offered []candidate, err error) {
	answers, err := sessionsEverywhere(ctx, c, "")
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if a.err != nil {
			continue
		}
		for _, s := range a.answer.Sessions {
			offered = append(offered, candidate{s.Session, visible(cmp.Or(s.Subject, s.Client)) + " at " + a.name})
		}
	}
	return offered, nil
}

// tokensOffered asks the member in c's flags for the names of its tokens.
func tokensOffered(ctx context.Context, c *cli.Command, _ string) (offered []candidate, err error) {
	err = askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		tokens, err := admin.Tokens(ctx)
		if err != nil {
			return err
		}
		for _, one := range tokens.Tokens {
			offered = append(offered, candidate{one.Name, "created " + formatTime(one.Created)})
		}
		return nil
	})
	return offered, err
}

// serversOffered asks for the addresses of all members of the view.
func serversOffered(ctx context.Context, c *cli.Command, _ string) (offered []candidate, err error) {
	status, err := seenBy(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, member := range status.View.Members {
		offered = append(offered, candidate{member.Address, member.Name + ", " + member.State})
	}
	return offered, nil
}
