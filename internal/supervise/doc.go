// Package supervise runs the command of `holdfast lock NAME -- COMMAND`: its process group, terminal, signals and
// termination. It does not know about locks.
//
// # Promise
//
// From the moment the command runs until the lock may go to another, a process watches over it: the command ends on the
// caller's order, and when the caller is killed.
//
// # Processes
//
//	caller ──┬── command (own process group; sometimes a starter before) ── its children
//	         └── guardian (own process group, holds nothing of the user's)
//
// Guardian and starter are this same program started under another name, which do their work while this package is
// initialized. That is early: see begin. If the program's first argument is lock, the guardian is started
// then, too, before the program knows what for, so that the two begin at the same time.
//
//   - The guardian reads from a leash: a socket whose other end only the caller holds. First comes its task. When the
//     leash ends, by any death of the caller, SIGKILL included, it sends KILL to the command's group, and to what has
//     left the group and has the mark. There is no TERM first: the lock may already be on its way to another. When all
//     of that has ended, it starts the heir ([Heir]), which does what the caller cannot do any more. The command runs
//     only after the guardian has said that it is ready, so it never runs unguarded. The guardian has /dev/null for
//     input and output and keeps none of the caller's files but [Command.Keep], so it never keeps a pipeline open. Once
//     the command has ended, the caller ends the guardian. A leash that ends before the task ends the guardian, too.
//   - On Linux the caller starts a command that has a mark itself, and then sends its group to the guardian: a start
//     costs no process more. If the caller is killed before that has arrived, the guardian waits until all of the caller
//     is gone. Then the kernel has killed the command (parent-death signal, which the command has before it runs), and
//     the guardian kills what the command has started meanwhile, by the mark. If the caller is stopped there, the
//     guardian kills the caller at the deadline, and goes on like that: the caller could start the command later. A
//     caller does not start a command that near to its deadline (see launching).
//   - Every other command begins as a starter, which waits at a gate (a pipe) until the guardian knows it. Then the
//     caller sends the command's environment through, and the starter execs the command in its place: same process id,
//     which is also the group's id, and nothing of ours left in its environment, arguments or open files. If the caller
//     dies first, the gate closes and the command never runs. An execution that fails is reported through a second pipe
//     that a successful one closes, so [Start] knows before it returns. A starter is needed for a command that has no
//     mark, and on systems other than Linux, because such a command is found by its group only; for a program that gains
//     privileges, because the kernel then takes the parent-death signal away and hides the environment; and for a
//     command that gets the terminal before it runs: a process that takes the terminal for itself is stopped for that
//     (SIGTTOU), unless it ignores the signal, and what it execs would then ignore it as well.
//   - On the leash the caller sends the deadlines by which the command must have ended ([Command.Deadline],
//     [Process.SetDeadline]), as times of package clock. When the latest one passes, the guardian sends KILL by its own
//     clock, even if the caller is stopped, debugged or frozen, and starts the heir when all has ended; [Process.Wait]
//     then returns [ErrDeadline]. The caller continues a stopped guardian at once. If both are frozen, as in a frozen
//     container, so is the command, and the guardian acts when it wakes.
//   - If the guardian is killed while the command runs, or while something runs that was adopted from it, all of it is
//     killed and [Process.Wait] returns [ErrGuardian]. If both caller and guardian are killed at once, Linux still
//     kills the command itself (parent-death signal), though not its children.
//
// # The heir
//
// The heir must not start while a process may still use what the command protects. So the guardian looks for the
// command's group, for what the caller has adopted if the caller lives, and on Linux for every process with
// [Command.Mark] in its environment. It kills what it finds, and looks again, until two looks in a row find nothing. If
// a process is left at the latest deadline (one that runs as another user, or that the kernel does not end), or ten
// seconds later without a deadline, there is no heir.
//
// When the caller has been killed, three things are not seen: a process that has left the group and was given another
// environment, one that has left it and runs as another user, and on systems other than Linux all that has left it. They
// survive the caller, as they did before the guardian looked for them. If the caller is killed between the start of a
// command and its message to the guardian, some ten microseconds later, the guardian knows no group: then the first two
// are not seen in the group either, if the command has started them by then.
//
// The heir's input waits in a pipe that the caller has filled before the command ran, and which neither of them reads.
// So the guardian knows no secret, and no list of processes shows one. Without input there is no heir: the command has
// not run.
//
// # Termination
//
// When the command ends by itself, its status counts, and what it left running in the background is left alone. With
// [Command.Adopt], on Linux, the caller becomes the parent of what is left, in the command's group or not (child
// subreaper): [Process.Left] is closed when all of it has ended, and until then the guardian stays. In the same way
// flock(1) keeps a lock while a process has inherited its file. When the lock is lost, [Process.Terminate] sends TERM
// to the whole group, KILL when the grace is over, and returns when no process of the group is left; what was adopted,
// or has left the group, is ended with it. When the caller is killed, the guardian kills the whole group, and what has
// left it and still has the mark.
//
// The end of a process group raises no event. The command's own end does (SIGCHLD); after it, Terminate polls every few
// milliseconds for remaining processes of the group, until the grace, or one second after KILL, is over.
//
// Without Adopt a process that leaves the group (setsid, setpgid, the jobs of an interactive shell) is out of reach, as
// it is on other systems than Linux.
//
// A process that runs as another user, as under sudo, is out of reach, too, unless the caller is root: Terminate names
// it in its error.
//
// A signal to the group goes through a pidfd where the kernel can do that (Linux 6.9 and later), so that it never
// reaches a stranger's group that was given the same number. Elsewhere the number is used only while the group is known
// to exist, or existed an instant ago.
//
// # Terminal
//
// The command's group becomes the terminal's foreground group before the command runs, if the caller's group is the
// foreground one, standard input is that terminal and standard output is no pipe. (`lock … -- command | less`: less
// needs the terminal more.) In every other case the terminal is handed over when the command is stopped for wanting it
// (SIGTTIN, SIGTTOU) and the caller's group has it; if the caller runs in the background, when the shell's fg has given
// it back. Keys typed while the caller's group has the terminal reach the command as forwarded signals.
//
// The terminal is put back when the command has ended, with the modes it had if a signal ended the command; the
// guardian does the same if the caller is killed.
//
// The caller renews the lock, so it must never stop: it ignores the stop key. The command must not stop either while it
// owns the terminal: neither shell nor command would answer then. So ^Z is refused: a command that is stopped while it
// owns the terminal is continued at once, and Notice reports it. A command that does not own the terminal may be
// stopped with kill -STOP; the lock stays held.
//
// # Signals
//
// INT, TERM, HUP, QUIT, USR1 and USR2 arrive at [Signals]. While the caller waits for the lock they cancel the wait;
// once the command runs they are forwarded to its group. Signals that the kernel sends to a terminal's foreground group
// reach only the command's group, so none arrives twice. An INT or HUP that was ignored when the program started
// (nohup, a script's background) stays ignored, by us and by the command.
//
// # Containers
//
// The first process of a container becomes the parent of what other processes leave behind. If that is this program,
// [Main] reaps those strangers.
package supervise
