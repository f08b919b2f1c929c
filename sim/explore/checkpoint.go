package explore

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-locks/holdfast/sim"
)

// checkpoint is the saved state of an exploration that has ended early. It has no states of members: repeating the same
// actions restores those.
type checkpoint struct {
	Protocol    string
	Config      Config // its Protocol is found by name
	Names       []digest
	Parent      []uint32
	Via         []uint16
	Heals       []uint32
	Settled     []bool
	Level       []uint32
	Coming      []uint32
	Transitions int
	Depth       int
	Elapsed     time.Duration
}

const checkpointMagic = "holdfast exploration 3\n"

// Exploration is an exploration that can be stopped and resumed.
type Exploration struct{ searcher *searcher }

// Begin prepares an exploration. It returns an error for a wrong configuration.
func Begin(c Config, l Limits) (*Exploration, error) {
	s, err := newSearcher(c, l)
	if err != nil {
		return nil, err
	}
	return &Exploration{s}, s.root()
}

// Run explores until no state is left, a promise is broken, ctx is done or a limit is reached.
func (x *Exploration) Run(ctx context.Context) (Report, error) {
	err := x.searcher.run(ctx)
	return x.searcher.report, err
}

// Save writes a checkpoint to a file, for Resume.
func (x *Exploration) Save(path string) (err error) {
	s := x.searcher
	kept := checkpoint{
		Protocol: s.config.Protocol.Name, Config: s.config, Names: make([]digest, len(s.known.parent)),
		Parent: s.known.parent, Via: s.known.via, Heals: s.known.heals, Settled: s.known.settled,
		Transitions: s.report.Transitions, Depth: s.report.Depth, Elapsed: s.report.Elapsed,
	}
	kept.Config.Protocol = sim.Protocol{}
	//tidy:unordered each name has a fixed place
	for name, number := range s.known.number {
		kept.Names[number] = name
	}
	for _, f := range s.level {
		kept.Level = append(kept.Level, f.number)
	}
	for _, f := range s.coming {
		kept.Coming = append(kept.Coming, f.number)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	defer func() {
		if closed := file.Close(); err == nil && closed != nil {
			err = fmt.Errorf("write the checkpoint: %w", closed)
		}
	}()
	buffer := bufio.NewWriterSize(file, 1<<20)
	_, err = buffer.WriteString(checkpointMagic)
	if err = errors.Join(err, gob.NewEncoder(buffer).Encode(&kept), buffer.Flush()); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	return nil
}

// Resume reads a file of Save, and restores the states that are yet to be visited. It returns an error for a wrong
// file, and detects machines that behave differently than when it was written.
func Resume(path string, l Limits) (*Exploration, error) {
	kept, err := readCheckpoint(path)
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint %s: %w", path, err)
	}
	s, err := newSearcher(kept.Config, l)
	if err != nil {
		return nil, err
	}
	s.known.parent, s.known.via, s.known.heals, s.known.settled = kept.Parent, kept.Via, kept.Heals, kept.Settled
	for number, name := range kept.Names {
		s.known.number[name] = uint32(number)
	}
	s.report.States, s.report.Transitions, s.report.Depth, s.before = len(kept.Names), kept.Transitions, kept.Depth, kept.Elapsed
	if err := s.comeBack(&kept); err != nil {
		return nil, fmt.Errorf("read the checkpoint %s: %w", path, err)
	}
	return &Exploration{s}, nil
}

func readCheckpoint(path string) (kept checkpoint, err error) {
	file, err := os.Open(path)
	if err != nil {
		return kept, err
	}
	defer func() {
		if closed := file.Close(); err == nil && closed != nil {
			err = closed
		}
	}()
	buffer := bufio.NewReaderSize(file, 1<<20)
	magic := make([]byte, len(checkpointMagic))
	if _, err := io.ReadFull(buffer, magic); err != nil || string(magic) != checkpointMagic {
		return kept, fmt.Errorf("it does not begin with %q; give a file that --checkpoint has written", checkpointMagic[:len(checkpointMagic)-1])
	}
	if err := gob.NewDecoder(buffer).Decode(&kept); err != nil {
		return kept, err
	}
	n := len(kept.Names)
	if len(kept.Parent) != n || len(kept.Via) != n || len(kept.Heals) != n || len(kept.Settled) != n {
		return kept, fmt.Errorf("it is damaged: %d names of states, %d parents", n, len(kept.Parent))
	}
	found, known := sim.Find(kept.Protocol)
	if !known {
		return kept, fmt.Errorf("protocol %q is none that can be explored; %s are", kept.Protocol, sim.Names())
	}
	kept.Config.Protocol = found
	return kept, nil
}

// comeBack restores the states of both levels: it repeats the actions that lead to them, passing each state on the way
// once.
func (s *searcher) comeBack(kept *checkpoint) error {
	wanted := make(map[uint32]bool, len(kept.Level)+len(kept.Coming)) // true: it is in a level
	children := map[uint32][]uint32{}
	for _, level := range [][]uint32{kept.Level, kept.Coming} {
		for _, number := range level {
			at := number
			for ; at != none; at = kept.Parent[at] {
				if int(at) >= len(kept.Parent) {
					return fmt.Errorf("it is damaged: there is no state %d", at)
				}
				if _, met := wanted[at]; met {
					break
				}
				wanted[at] = false
				children[kept.Parent[at]] = append(children[kept.Parent[at]], at)
			}
			wanted[number] = true
		}
	}
	found := map[uint32]*world{}
	for _, number := range children[none] {
		w, err := s.engines[0].beginning(int(kept.Via[number]) - 1)
		if err != nil {
			return err
		}
		if err := s.comeDown(kept, number, w, wanted, children, found); err != nil {
			return err
		}
	}
	for _, number := range kept.Level {
		s.level = append(s.level, frontier{number, found[number]})
	}
	for _, number := range kept.Coming {
		s.coming = append(s.coming, frontier{number, found[number]})
	}
	return nil
}

// comeDown finds the wanted states below one. It keeps a list of work instead of recursion: runs are long.
func (s *searcher) comeDown(kept *checkpoint, number uint32, w *world, wanted map[uint32]bool, children map[uint32][]uint32, found map[uint32]*world) error {
	e, todo := s.engines[0], []frontier{{number, w}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		name, err := e.digest(at.world)
		if err != nil {
			return err
		}
		if name != kept.Names[at.number] {
			return fmt.Errorf("state %d is not what it was: these machines are not those that were explored", at.number)
		}
		if wanted[at.number] {
			found[at.number] = at.world
		}
		n := e.upcoming(at.world)
		all := e.actions(at.world, n, nil)
		for _, child := range children[at.number] {
			if int(kept.Via[child]) >= len(all) {
				return fmt.Errorf("state %d has %d ways to go on, and number %d was taken", at.number, len(all), kept.Via[child])
			}
			after, _, err := e.proceed(at.world, n, all[kept.Via[child]])
			if err != nil {
				return err
			}
			todo = append(todo, frontier{child, after})
		}
	}
	return nil
}
