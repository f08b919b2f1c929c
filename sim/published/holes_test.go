package published

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// holesFile is the page about the holes of the published protocols themselves.
const holesFile = "../../docs/holes.md"

// hole is a row for a hole of a published protocol itself, with its description on that page.
type hole struct {
	rule   string // the rule of the row
	title  string
	steps  string // the failure, step by step
	closed string // the rule that closes it
}

// gallery is a section of the page: the protocol, its description, and its holes.
type gallery struct {
	protocol, about string
	holes           []hole
}

// galleries lists the sections. Rows about code of this project, or about a reading of a paper, are only in
// docs/mutations.md.
func galleries() []gallery {
	return []gallery{ofCentral(), ofGrantor(), ofBakery(), ofPermission(), ofClaim(), ofConsensus(), ofElection()}
}

func ofCentral() gallery {
	return gallery{"central", "CENTRAL_LOCK2 of JGroups: the first member of the view keeps the lock table.", []hole{
		{
			"every side grants", "Both sides of a partition grant",
			"The network splits. Each side gets a view whose first member coordinates, whether it has a majority or not. Both coordinators grant the same lock.",
			"Only a side with a quorum of the view before grants, and only when everything that the earlier coordinator promised has run out.",
		},
		{
			"revocation is advisory", "A revoked lock is granted while its holder still works",
			"Two sides meet, and both have a holder of the same lock. The coordinator sends one of them LOCK_REVOKED and takes the lock for free at once. It grants the lock to a third client before the holder has heard.",
			"A revoked grant stays taken until its holder has stopped, or its session has ended.",
		},
		{
			"H3", "A grant arrives after the report",
			"A member reports to the new coordinator that its client waits. A grant of the former coordinator, which was under way, arrives after that, and the member takes it. The new coordinator grants the same lock to another client.",
			"A grant of an earlier epoch than the one that the member has promised is void.",
		},
		{
			"H4", "A lock that is being released is reported as held",
			"A client has released its lock, and the release is still under way when the coordinator is lost. The member reports the lock as held. The new coordinator believes it, and no client is left to release the lock: all others wait for ever.",
			"What is being released is reported as a release.",
		},
		{
			"missing responder ignored", "A member that has not reported is left out",
			"A new coordinator asks all members what they hold, and one answer is late. The coordinator goes on without it, and grants a lock that a client of that member still holds.",
			"Each member is waited for until a view drops it, and then until it can hold nothing any more.",
		},
		{
			"unlock told once", "An unlock is lost",
			"A member sends an unlock once and forgets it. The message is lost, or the coordinator is. The lock stays taken by a client that has long gone on (JGRP-2234).",
			"A release is repeated until the coordinator has acknowledged it.",
		},
	}}
}

func ofGrantor() gallery {
	return gallery{"grantor", "The distributed lock service of Apache Geode: an elder names a grantor, which keeps the table.", []hole{
		{
			"versions restart at 1", "The grantors of a new elder are taken for stale",
			"The elder is lost, and the next one numbers its grantors from 1 again. A member that has heard of version 3 takes the new grantor of version 1 for a former one, and refuses all that it says. Its clients are stranded.",
			"A version is (epoch, number). An epoch has one elder, so versions never restart.",
		},
		{
			"stale grant accepted", "A replaced grantor still grants",
			"A grantor sends a grant, and is replaced before it arrives. The successor does not know of that grant and gives the lock to another client. The late grant arrives, and its receiver cannot tell that it is stale.",
			"A holder takes grants only from the newest grantor that it has heard of, and follows that one before it reports to it.",
		},
		{
			"cancelled wait sends no cancel", "A cancelled wait is granted",
			"A client of a remote member gives up waiting. The member drops the request and does not tell the grantor. The grantor grants the lock to that request, no client takes it, and all others wait.",
			"A cancel is a release: it is repeated until it is acknowledged, and a grant that crosses it is given back.",
		},
	}}
}

func ofBakery() gallery {
	return gallery{"bakery", "snaplock, Lamport's Bakery on three leaders.", []hole{
		{
			"still entering from the own map", "Two masters lock one name",
			"A ticket must wait for all tickets that are still choosing a number. Its master looks for these in its own book alone. Another leader has answered it and knows of one more; that one then gets a smaller number, and both are locked.",
			"The tickets that are choosing are taken from both books, less those that are known to have exited.",
		},
		{
			"all founders elect", "One leader away stops all",
			"A cluster of up to three elects leaders only when all its computers are there. One is away, and another one starts again. There is no election, and nothing is locked until the first one is back.",
			"Each view has one elector, and the founders that are there elect; what the others may hold is waited for.",
		},
	}}
}

func ofPermission() gallery {
	const about = "Ricart and Agrawala, Raymond, Raynal. The papers are right as long as no message is lost and no member fails. The first hole is that assumption; the second one is in notes of a course that teach the algorithm. " +
		"[The table](mutations.md) has what readings of Raymond, Raynal, and Roucairol and Carvalho break."
	return gallery{"permission", about, []hole{
		{
			"request sent once", "A lost message blocks all",
			"A member sends its request to each peer once. One of these messages is lost. The member waits for that reply for ever, and every member that has deferred to it waits too.",
			"A request is repeated until it is answered, and a copy is always answered.",
		},
		{
			"clock follows the last message", "A late message sets the clock back",
			"The notes set the clock to the higher of the member's last stamp and the last stamp that it has heard. A message with an old stamp arrives late and sets it back. The next request has a stamp as old as the holder's, both members reply to each other, and both enter.",
			"A clock only rises: it is the highest of all that was heard and given.",
		},
	}}
}

func ofClaim() gallery {
	return gallery{"claim", "ConsistentKeyLocker of Titan: claims with timestamps in a store.", []hole{
		{
			"a write may take less than the wait by the skew", "A slow write is overlooked",
			"A claim whose write took as long as the wait counts. A rival whose clock is ahead dates its claim later, waits, and reads the row before the slow write is there. It sees its own claim alone; both enter.",
			"The write has less time than the wait, by the skew; one that took longer has failed.",
		},
		{
			"no bid begins while a claim is held by", "One process holds a lock twice",
			"Clients of one process ask a local mediator first, and its refusal is ignored. The process claims a second time while its first claim holds. It takes the older claim for a leftover of its own, passes it over, and both clients would hold.",
			"A process has one claim of a name, and begins no other while that one stands.",
		},
		{
			"each process has a rid of its own", "Two processes have one name",
			"Two processes are configured with the same id. Each takes the claim of the other for its own, which it passes over. Both enter.",
			"A random part is added to each process's id.",
		},
	}}
}

func ofConsensus() gallery {
	const about = "Raft. It has no hole of this kind: of five published protocols under Holdfast's lockspaces the four above have. But a lock service over Raft needs sessions, and these need rules that the paper leaves to its users."
	return gallery{"consensus", about, []hole{
		{
			"every session has its whole ttl at a new leader", "A new leader ends living sessions",
			"Heartbeats are not in the log, so a new leader does not know when the former one heard a session last. It counts the TTL from what the log says, ends a session that has just been heard, and grants its locks to others.",
			"A new leader gives each session its whole TTL.",
		},
		{
			"a session is waited for on every clock", "The leader's clock is faster",
			"The leader ends a session when the TTL is over by its own clock, and grants its locks. The client's clock is slower, within what is promised, and the client still believes.",
			"The leader waits longer than the TTL by the drift of the clocks.",
		},
	}}
}

func ofElection() gallery {
	return gallery{"election", "Garcia-Molina's elections, as notes of a course have them. They are below all protocols: which members are there, and which one coordinates.", []hole{
		{
			"no member-side check", "A member stays with a lost coordinator",
			"Only the coordinator polls. It is lost, and a member that hears no more polls does not ask. It follows the lost coordinator for ever.",
			"A member that hears no poll for a while begins to search.",
		},
		{
			"no coordinator in the poll's answer", "Two coordinators never meet",
			"A partition leaves two coordinators behind. When it heals, each polls the other, and the answers say how a member is, and not which coordinator it follows. Both go on for ever.",
			"The answer names the coordinator, and one of the two gives way.",
		},
		{
			"patience below a round trip", "Elections fail one after the other",
			"A candidate waits for answers no longer than a message takes there and back. The answers come just after that, it gives up, and the next candidate does the same.",
			"The patience is above the measured round trip.",
		},
	}}
}

const beforeHoles = `# Holes of published protocols

This page is a gallery: what goes wrong in the lock protocols that Holdfast is made of, each as it was published. Each hole is shown by the code that ships with one rule switched off, in a run of the simulator that was shrunk to a few lines and drawn. The commands show a longer run of the same hole; they end with exit code 129, 128 or 127.

[The table](mutations.md) has all rules that can be switched off, those that are Holdfast's own too, with the script of each picture. [How to read a picture](simulator.md#reading-a-picture).

Written by ` + "`go test ./sim/published -run TestHoles -retell`" + ` from sim/published/holes_test.go.
`

// holesPage returns docs/holes.md.
func holesPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString(beforeHoles)
	for _, g := range galleries() {
		page := g.protocol
		if page != "election" {
			page = fmt.Sprintf("[Protocol `%s`](protocols/%s.md). ", page, page)
		} else {
			page = ""
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s%s\n", strings.ToUpper(g.protocol[:1])+g.protocol[1:], page, g.about)
		for _, h := range g.holes {
			row, err := Find(h.rule)
			if err != nil || row.Protocol != g.protocol || !row.Scripted() {
				t.Fatalf("%q is no row of %s with a picture: %v", h.rule, g.protocol, err)
			}
			fmt.Fprintf(&b, "\n### %s\n\n<a href=%q><img src=%q width=\"360\" alt=\"%s: a run, as a picture\"></a>\n\n",
				h.title, row.PictureFile(), row.PictureFile(), h.title)
			fmt.Fprintf(&b, "%s **The rule:** %s Without it [%s](guarantees.md) breaks ([the row](mutations.md#%s): %s).\n\n```\n%s\n```\n",
				h.steps, h.closed, row.Breaks, row.Slug(), row.Source, row.Command())
		}
	}
	return b.String()
}

// TestHoles checks that docs/holes.md matches the galleries, and that each of its holes is a row with a picture.
func TestHoles(t *testing.T) {
	page := holesPage(t)
	if *retell || golden.Rewrites() {
		rewritten(t, holesFile, page)
	}
	if text, err := os.ReadFile(holesFile); err != nil || string(text) != page {
		t.Errorf("%s is not what the galleries say, %v; write it with go test ./sim/published -run TestHoles -retell", holesFile, err)
	}
}
