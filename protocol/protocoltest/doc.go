// Package protocoltest plays golden conversations with the machines of a protocol, either one in which one member keeps
// the lock table for all, or one of peers. Only the tests of such protocols use it.
//
// Package golden has the format of conversations, and the requests of clients and operators. Every message is shown
// when it is sent, every answer when it is given. Nothing is random: the network does what the lines say, views and
// leases are written by hand, and time passes only by lines.
//
// Members are called a, b, c, …. Session a1 is the first of member a's clients.
//
// # Members and views
//
//	members [chunk=N] [operators=N] [parked=N] [placement=10s] [hold_on=1m]
//	        [capacity=K] [defer] [retain] [any] [named] [wall] [messages=published] [founders=N]
//	        [priority=a:1,b:off] [random=a:7] [address=a:z] [grace=1s] [grace=snaplock] a b c
//	                  a new cluster, in which no member has a view
//	view epoch=4 [of=a,b,c] [to=a,b] [from=3s] [count=N] [again] [proposed] [open] [opens=9s] [merged]
//	     [since=c@2] [dropped=c@5s] [coordinator=b]   raised at those in to=
//	halt b 5          b has promised epoch 5          lapse c       c's lease has ended
//	carried c 3s      until when c carries unconfirmed holds
//	lease c 3s        until when c may hold; for ever at first
//	role c 3s         until when c may grant; for ever at first
//	crash a           a takes and sends nothing any more
//	start a           a begins a life that knows nothing of the one before
//
// The first founders= of the members are founders, and all if it is not given; the others are guests. Each listens at
// its name, unless address= has another one.
//
// With named, answers that show a lock name each session's member; with wall, members know the wall clock. Each view has the next number, except for a
// repetition of the last one with other flags. The stage computes since when a member has its place in all views;
// since= overrides it. Any line can begin with quietly: then it happens, and is not shown.
//
// # What is asked
//
// What package golden lists, and:
//
//	use a1 30 X       a1 locks and unlocks X so often, of which only the number is shown
//	crowd a1 30 X     a1 wants X so often, or X1, X2, … where it is X*; only how often it is granted is shown
//	transfer b c      b is asked to make c the authority
//
// # The network and time
//
//	cut a>b           messages are lost               twice a>b     each arrives twice
//	slow a>b          messages stay on their way      flow a>b [last]   and arrive now, the last one first
//	cut a>b:Kind      so for one kind of messages only; the same with twice, slow and flow. A message
//	                  is of the kind of its Body
//	heal              all links are good again
//	at 3s             time passes
//	count             how many messages of which kind there were since the last count
//
// # A store
//
// If a protocol's members share a key-column-value store ([PlayStored]), the store executes each request at once, and
// answers:
//
//	a→store #3 write X +a@1ms −a@0s       request 3 adds a claim of a's to row X, and deletes one
//	a→store #4 read X from -30.04s        a slice, from a column on
//	a→store #5 swap X: free 7 ⇒ held 8 a  a conditional write
//	store→a #4 a@1ms, b@2ms               what was read; of a write, done
//
// All wall clocks show the same at the beginning, 0s here; a token 1:2000 is the time 2ms. Members' readings of their
// own clocks are not shown. Lines for that:
//
//	members [wait=100ms] [expiry=30s] [skew=40ms] [retries=3] [unit=ms] [cas [hold_on=1s]] [clock=store] [cleaner]
//	        [store=watch,ttl,ends,forgets] a b options of protocol claim; what the store can do, and whether it
//	                                      forgets what was deleted; ends,unattended: it reports the ends of no member
//	wall b -30ms                          b's wall clock goes that far ahead, or after
//	cut a>store                           nothing is done, and a hears that the outcome is unknown
//	cut store>a                           it is done, and a hears that the outcome is unknown
//	late a>store                          a hears so at once, and it is done when it flows
//	slow a>store      slow store>a        requests stay on their way, or answers do; flow lets them go
//	pass store>a                          those go that wait, and the link stays slow
//	refuse a>store    deny a>store        nothing is done, for now or ever, and a hears so
//	cut a>store:Swap 2                    so for requests of one kind only; so for the next two only
//	foreign X z -3s                       another process claims X at a time; erase deletes that
//	settings [wait=200ms …]               another process writes these settings; without any, there are none
//	rows                                  what is in the store
package protocoltest
