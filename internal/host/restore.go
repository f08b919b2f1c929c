package host

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/snapshot"
	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/storage"
)

// Restore describes how to make a data folder from snapshots. See [Restore.Run].
type Restore struct {
	// Files are the snapshots, each of a different space of one cluster. Required.
	Files []string
	// Data is the folder to make: it must not exist, or must be empty. Required.
	Data string
	// Above is the highest token known to have been granted. Zero means that the snapshots and the wall clock suffice,
	// which is so unless the clock was set back.
	Above holdfast.Token
	// Grace is how long clients of the former cluster may still believe in their holds: the restored member grants
	// nothing for that long, plus 5 %, by its clock. Zero means the maximum that that cluster may have allowed, and
	// NoGrace that none of them is left.
	Grace time.Duration
	// Wall returns the current wall time. Nil means the machine's clock.
	Wall func() time.Time
}

// NoGrace is the Grace if no client believes in its locks any more.
const NoGrace time.Duration = -1

// Restored describes the snapshot from which a data folder was made.
type Restored struct {
	Data   string                  `json:"data"`
	Member uint64                  `json:"member,string"`
	Spaces api.List[RestoredSpace] `json:"spaces"`
}

// RestoredSpace is a space of a restored folder.
type RestoredSpace struct {
	snapshot.Summary
	File  string       `json:"file"`
	Above uint64       `json:"above,string"` // tokens are of a higher reign than this
	Grace api.Duration `json:"grace"`        // how long nothing is granted from the first start on, by the clock of a client
	// Longest is the longest TTL of a session in the snapshot; 0 without sessions. Sessions opened since may have a
	// longer one.
	Longest api.Duration `json:"longest_ttl"`
}

// Run makes a data folder with which one member begins its own cluster, with the spaces of the snapshots. It has no
// live sessions and no locks. Tokens are higher than all that the former cluster has granted, even after the snapshots
// were saved. The member and its cluster are new, so none of the former members is heard. The folder is made as a
// whole, or not at all. The error names the file and what is wrong with it, if it wraps snapshot.ErrInvalid, or else
// the folder.
func (r Restore) Run() (*Restored, error) {
	if r.Wall == nil {
		r.Wall = time.Now
	}
	switch {
	case len(r.Files) == 0 || r.Data == "":
		return nil, errors.New("restore: Files or Data is empty; give a snapshot, and a folder that is to be made")
	case r.Grace < 0 && r.Grace != NoGrace:
		return nil, fmt.Errorf("restore: Grace is %v; more than 0 is allowed, 0 for what the snapshot says, and NoGrace", r.Grace)
	}
	if err := r.checkFolder(); err != nil {
		return nil, err
	}
	data := filepath.Clean(r.Data)
	above := filepath.Dir(data)
	if err := os.MkdirAll(above, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder above a data folder: %w", err)
	}
	made, err := os.MkdirTemp(above, filepath.Base(data)+".restoring-*")
	if err != nil {
		return nil, fmt.Errorf("make a data folder: %w", err)
	}
	restored, err := r.fill(made)
	if err == nil {
		err = cell.Place(made, data)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(made))
	}
	return restored, nil
}

// checkFolder refuses a folder that is not empty.
func (r *Restore) checkFolder() error {
	has, err := os.ReadDir(r.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look into data folder %s: %w", r.Data, err)
	case len(has) > 0:
		return fmt.Errorf("data folder %s is not empty: it has %q; restore the snapshot into a new folder (a member that still has its folder needs no snapshot)", r.Data, has[0].Name())
	}
	return nil
}

// fill makes the member, its journal and the logs.
func (r *Restore) fill(folder string) (*Restored, error) {
	var drawn membership.Cell
	drawn.ID, drawn.Cluster = membership.Draw(secretRand())
	kept, _, err := cell.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(kept.Save(storage.Save{Data: drawn.Encode()}).Err, kept.Close()); err != nil {
		return nil, err
	}
	logs, err := journal.Open(filepath.Join(folder, logsName), journal.Options{Identity: identityOf(drawn.ID)})
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", r.Data, err)
	}
	restored := &Restored{Data: r.Data, Member: uint64(drawn.ID)}
	for _, file := range r.Files {
		space, err := r.read(file, drawn.ID, logs, restored.Spaces)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("snapshot %s: %w", file, err), logs.Close())
		}
		restored.Spaces = append(restored.Spaces, *space)
	}
	if err := logs.Close(); err != nil {
		return nil, fmt.Errorf("data folder %s: %w", r.Data, err)
	}
	recorded := spaceRecord{}
	for i := range restored.Spaces {
		s := &restored.Spaces[i]
		recorded[s.Space] = spaceShape{s.Protocol, s.Shards}
	}
	if err := cell.Replace(folder, spacesName, recorded.encode()); err != nil {
		return nil, fmt.Errorf("record the spaces of a data folder: %w", err)
	}
	return restored, nil
}

// read restores one space. The others are those already restored.
func (r *Restore) read(name string, self protocol.ID, logs *journal.Journal, others []RestoredSpace) (space *RestoredSpace, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	from, err := snapshot.NewReader(file)
	if err != nil {
		return nil, err
	}
	h := from.Header()
	if err := r.judge(h, others); err != nil {
		return nil, err
	}
	space = &RestoredSpace{File: name}
	floor := max(secondsOf(r.Wall()), secondsOf(h.Saved.Time), uint64(r.Above)>>32)
	for {
		shard, err := from.Shard()
		if errors.Is(err, io.EOF) {
			space.Summary = *from.Summary()
			return space, nil
		}
		if err != nil {
			return nil, err
		}
		begin := consensus.Afresh{Self: self, Log: member.LogOf(h.Space) + uint64(shard.Shard), Above: floor, Grace: r.grace(h), Reason: reasonOf(h)}
		begun, err := restoreShard(from, shard, &begin, logs)
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", shard.Shard, err)
		}
		space.Above, space.Grace = max(space.Above, begun.Reign-1), max(space.Grace, api.Duration(begun.Grace))
		space.Longest = max(space.Longest, api.Duration(begun.Longest))
	}
}

// secondsOf returns a time as the counter of a reign from the wall clock.
func secondsOf(t time.Time) uint64 { return uint64(max(1, t.Unix()-membership.Origin)) }

// grace returns how long clients may still believe.
func (r *Restore) grace(h *snapshot.Header) time.Duration {
	if r.Grace == NoGrace {
		return 0
	}
	return cmp.Or(r.Grace, time.Duration(h.TTL))
}

// reasonOf explains, for people, why nothing is granted at first.
func reasonOf(h *snapshot.Header) string {
	return fmt.Sprintf("restored from a snapshot of %v; clients of the cluster before may still believe in what they hold", h.Saved)
}

// judge refuses a snapshot that cannot be restored, or not together with the others.
func (r *Restore) judge(h *snapshot.Header, others []RestoredSpace) error {
	refuse := func(format string, values ...any) error {
		return fmt.Errorf(format+": %w", append(values, snapshot.ErrInvalid)...)
	}
	if d := consensus.Descriptor(); h.Protocol != d.Name {
		return refuse("it is of a space of protocol %q, and this version restores those of protocol consensus", h.Protocol)
	}
	if err := holdfast.CheckSpace(h.Space); err != nil {
		return refuse("it is of a space that cannot be: %v", err)
	}
	for i := range others {
		switch o := &others[i]; {
		case o.Space == h.Space:
			return refuse("it is of space %q, and so is %s; give one of them", h.Space, o.File)
		case o.Cluster != h.Cluster:
			return refuse("it is of cluster %s, and %s is of cluster %s; restore each cluster for itself", h.Cluster, o.File, o.Cluster)
		}
	}
	if now := r.Wall(); now.Before(h.Saved.Time) && r.Above == 0 {
		return fmt.Errorf("it was saved at %v, and this machine's clock shows %v: one of the two clocks is wrong, and tokens could repeat; set this clock, or give the highest known token (--above)", h.Saved, api.At(now))
	}
	return nil
}

// restoreShard writes the beginning of a shard's log.
func restoreShard(from *snapshot.Reader, shard *snapshot.Shard, begin *consensus.Afresh, logs *journal.Journal) (*consensus.Begun, error) {
	copier, err := consensus.Copier()
	if err != nil {
		return nil, err
	}
	for {
		part, err := from.Part()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := copier.Add(part); err != nil {
			return nil, fmt.Errorf("%w: %w", err, snapshot.ErrInvalid)
		}
	}
	copied, err := copier.Done()
	if err == nil && copied.Reign() != shard.Reign {
		err = fmt.Errorf("it says that its reign is %d, and has reign %d", shard.Reign, copied.Reign())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, snapshot.ErrInvalid)
	}
	begun, err := begin.Begin(copied)
	if err != nil {
		return nil, err
	}
	for _, request := range begun.Requests {
		if err := submitAndWait(logs, request); err != nil {
			return nil, err
		}
	}
	return begun, nil
}

// submitAndWait sends a request to the journal, and waits for its answer.
func submitAndWait(logs *journal.Journal, request any) error {
	answered := make(chan any, 1)
	if err := logs.Submit(request, func(answer any) { answered <- answer }); err != nil {
		return err
	}
	switch answer := (<-answered).(type) {
	case storage.Chunked:
		return answer.Err
	case storage.Installed:
		return answer.Err
	default:
		return fmt.Errorf("the journal has answered %v with %v", request, answer)
	}
}
