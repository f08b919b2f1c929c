package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// The session of locks that a keeper holds in a store names its socket, whose name is the secret.
const storeSession = "store."

// socketOf returns the socket that a session names, and reports whether it is the session of a store's keeper.
func socketOf(session string) (socket string, ok bool) {
	text, is := strings.CutPrefix(session, storeSession)
	path, err := base64.RawURLEncoding.DecodeString(text)
	return string(path), is && err == nil
}

// socketLetters is the length of a socket's name, of 5 random bits a letter.
const socketLetters = 12

// listenPrivately listens on a new socket in a folder that belongs to this user alone.
func listenPrivately(p *program) (net.Listener, error) {
	parent := p.variable("XDG_RUNTIME_DIR")
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		parent = os.TempDir()
	}
	folder := filepath.Join(parent, name+"-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make a folder for the keeper's socket: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return nil, fmt.Errorf("look at the folder of the keeper's socket: %w", err)
	}
	if owner, known := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm() != 0o700 || known && int(owner.Uid) != os.Getuid() {
		return nil, misconfigured("the keeper's socket needs folder %s, which others can use: it must be a folder of this user with mode 0700; remove it, or set XDG_RUNTIME_DIR", folder)
	}
	// The system bounds a socket's path to about 100 bytes. The folder keeps other users out, so a short name will do.
	listener, err := net.Listen("unix", filepath.Join(folder, rand.Text()[:socketLetters]))
	if err != nil {
		return nil, fmt.Errorf("listen for renew and release: %w", err)
	}
	return listener, nil
}

// acquireInStore has a keeper take the locks, and prints them.
func (p *program) acquireInStore(ctx context.Context, c *cli.Command, order *storeOrder, request *request, w *witness) error {
	if w == nil {
		return usageError(c.Name, "--no-keep is for a member; in a store a process has to renew its claims, so leave it out")
	}
	finish := p.reportStoreWait(ctx, c, order, request)
	answer, err := p.spawnKeeper(ctx, storeKeeperArguments(c, w, order), w, order.url, 0)
	finish(err == nil && strings.HasPrefix(answer, "0 "))
	if err != nil {
		return fmt.Errorf("start the keeper: %w", err)
	}
	number, report, _ := strings.Cut(strings.TrimSpace(answer), " ")
	code, err := strconv.Atoi(number)
	var kept keptLocks
	switch {
	case err != nil:
		return fmt.Errorf("start the keeper: it ended with %q", answer)
	case code != 0:
		return &exitError{code, errors.New(report)}
	}
	if err := json.Unmarshal([]byte(report), &kept); err != nil {
		return fmt.Errorf("start the keeper: read its report: %w", err)
	}
	session := storeSession + base64.RawURLEncoding.EncodeToString([]byte(kept.Socket))
	got, now := &schema.AcquiredAll{Session: session}, time.Now()
	for i, name := range request.names {
		got.Locks = append(got.Locks, &schema.Acquired{
			Space: spaceOf(c), Name: name, Mode: schema.Mode(holdfast.ModeExclusive), Owner: c.String("owner"), Token: uint64(kept.Tokens[i]),
			Since: timestamppb.New(now), Until: timestamppb.New(now.Add(kept.TTL)), Ttl: durationpb.New(kept.TTL), ExpiresIn: durationpb.New(kept.TTL),
			Session: session, Class: schema.Class(kept.Class),
		})
	}
	if err := p.printAcquired(c, got); err != nil { // no process will know the session
		for i, name := range request.names {
			_, failure := askKeeper(ctx, c.Name, kept.Socket, &keeperRequest{Name: name, Token: kept.Tokens[i]})
			err = errors.Join(err, failure)
		}
		return err
	}
	p.say("kept while process %d lives; `%s release` gives a lock back before that", w.pid, name)
	return nil
}

// reportStoreWait reports the keeper's wait for the locks, until finish is called.
func (p *program) reportStoreWait(ctx context.Context, c *cli.Command, order *storeOrder, request *request) (finish func(granted bool)) {
	say := newLineWriter(p.stderr, len(request.names))
	report := p.waitReport(request, spaceOf(c), say, c.Bool("verbose"))
	report.open = func(ctx context.Context) (lookup, io.Closer, error) {
		store, err := openStore(ctx, c.Name, order.url, lookLimit)
		if err != nil {
			return nil, nil, err
		}
		return &storeOperator{c: c, order: order, store: store}, store, nil
	}
	report.start(ctx)
	return func(granted bool) {
		if err := report.finish(granted); err != nil {
			say.printf("%v", err)
		}
		// If standard error fails, there is no way to report that.
		_ = say.close()
	}
}

// storeKeeperArguments returns the keeper's arguments: the request's flags as they are. The store's URL is no argument.
func storeKeeperArguments(c *cli.Command, w *witness, order *storeOrder) []string {
	arguments := []string{"store-keeper", "--while-pid=" + strconv.Itoa(w.pid), "--store-options=" + order.options}
	for _, flag := range []string{
		"shared", "slots", "try", "wait", "hold", "owner", "reason", "value", "require", "conflict-exit-code", "space", "timeout",
	} {
		if c.IsSet(flag) {
			arguments = append(arguments, fmt.Sprintf("--%s=%v", flag, c.Value(flag)))
		}
	}
	return append(append(arguments, "--"), c.Args().Slice()...)
}

// askKeeper makes a request of a keeper.
func askKeeper(ctx context.Context, command, socket string, request *keeperRequest) (answer keeperAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, keeperPatience)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		gone := fmt.Errorf("%w: the keeper of the session has ended, and has released its locks", holdfast.ErrLost)
		return answer, &holdfast.Error{Op: command, Name: request.Name, Err: gone}
	}
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) }) // a connection has deadlines
	defer stop()
	err = json.NewEncoder(connection).Encode(request)
	if err == nil {
		err = json.NewDecoder(connection).Decode(&answer)
	}
	switch {
	case errors.Is(err, io.EOF):
		return answer, fmt.Errorf("%s: the session's keeper has ended before it answered; ask again", command)
	case err != nil:
		return answer, fmt.Errorf("%s: ask the session's keeper: %w", command, err)
	case answer.Code != 0:
		return answer, &exitError{answer.Code, errors.New(answer.Text)}
	}
	return answer, nil
}
