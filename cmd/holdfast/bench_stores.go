package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/target"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/open"
)

// storeFlags are the flags for locks in stores.
func storeFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("store", "`URL,...` of stores whose locks are measured: "+strings.Join(open.Schemes(), "://, ")+"://"),
		textFlag("store-wait", "`TIMES` for which a claim is left alone before it is checked (default: 100ms)"),
	}
}

// storeHold is how long locks in stores are kept, in addition to not at all: the time used in the published measurement
// of ConsistentKeyLocker, on the hot name, in 8 processes.
const storeHold = 50 * time.Millisecond

// readStores parses the stores whose locks are measured alongside those in members' memory.
func (o *benchOrder) readStores(c *cli.Command, serverGiven bool) error {
	text := c.String("store")
	if text == "" || c.Bool("self") {
		if c.IsSet("store-wait") && text == "" {
			return usageError(c.Name, "flag --store-wait goes with --store")
		}
		return nil
	}
	for other, given := range map[string]bool{"server": serverGiven, "soak": c.Duration("soak") != 0, "delay": c.Duration("delay") != 0} {
		if given {
			return usageError(c.Name, "flags --store and --%s: give one of them", other)
		}
	}
	waits := []time.Duration{100 * time.Millisecond}
	if c.IsSet("store-wait") {
		var err error
		if waits, err = load.ReadThink(c.String("store-wait")); err != nil {
			return usageError(c.Name, "flag --store-wait: %v", err)
		}
		if i := slices.IndexFunc(waits, func(d time.Duration) bool { return d < time.Millisecond }); i >= 0 {
			return usageError(c.Name, "flag --store-wait: %v: want 1ms to 1m", waits[i])
		}
	}
	stores, err := keptStores(text)
	if err != nil {
		return usageError(c.Name, "flag --store: %v", err)
	}
	o.stores = target.StoredTargets(stores, o.targets, waits)
	o.targets = slices.DeleteFunc(o.targets, func(name string) bool { return name == target.Claims || name == target.CAS || name == target.CASKept })
	if o.load.Think == nil {
		o.load.Think = []time.Duration{0, storeHold}
	}
	if o.load.Workloads == nil {
		o.load.Workloads = []string{load.Uncontended, load.Hot}
	}
	return nil
}

// keptStores parses comma-separated URLs, each of which may have several comma-separated hosts: a URL begins at a
// scheme.
func keptStores(text string) (stores []target.Kept, err error) {
	var urls []string
	for _, item := range strings.Split(text, ",") {
		if strings.Contains(item, "://") || len(urls) == 0 {
			urls = append(urls, item)
		} else {
			urls[len(urls)-1] += "," + item
		}
	}
	for _, url := range urls {
		scheme, _, _ := strings.Cut(url, "://")
		if !slices.Contains(open.Schemes(), strings.ToLower(scheme)) {
			// The text may be anything, even a password.
			return nil, fmt.Errorf("a URL begins with none of %s://", strings.Join(open.Schemes(), "://, "))
		}
		stores = append(stores, target.Kept{URL: url, Open: opens(url)})
	}
	return stores, nil
}

// opens returns a function that opens a store once for each process. One in memory, or in a folder, belongs to one
// process, whose parts then share it.
func opens(url string) func(context.Context) (storage.Store, error) {
	each := func(ctx context.Context) (storage.Store, error) { return open.Open(ctx, url) }
	switch scheme, _, _ := strings.Cut(url, "://"); strings.ToLower(scheme) {
	case "memory", "pebble":
		return target.Together(each)
	}
	return each
}
