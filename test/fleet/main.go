// SPDX-License-Identifier: Apache-2.0

// Command fleet measures the controller with simulated nodes, which run the agent's own code, against a real control
// plane. Up to 1,000 nodes join at once. Then they are upgraded, while the replica of the controller that works is
// killed three times, and a third of the nodes becomes unavailable each time. Some CSRs must not be approved, and some
// upgrades fail. The command fails if one of these CSRs is approved, a node is approved or upgraded twice, or the
// rollout makes more nodes unavailable than it allows.
//
// Afterwards it measures how long many agents need that fetch the payload from one ignition server at the same time.
//
// With -record, it only records the upgrade of a few nodes as an administrator sees it, and draws it.
//
// Usage: fleet [-sizes 100,300,1000] [-fetchers 500] [-save DIRECTORY] [-record FILE.svg] PROGRAM, in the root of
// the repository, as root
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

// settings are the flags.
type settings struct {
	program  string
	sizes    string
	fetchers int
	interval time.Duration
	upgrade  time.Duration
	record   string
	save     string
}

func main() {
	var s settings
	flag.StringVar(&s.sizes, "sizes", "100,300,1000", "numbers of nodes, one run each; empty for none")
	flag.IntVar(&s.fetchers, "fetchers", 500, "agents that fetch the payload at the same time; 0 for none")
	flag.DurationVar(&s.interval, "interval", 4*time.Second, "least time between two checks of an "+
		"agent for a slot; real agents check every minute")
	flag.DurationVar(&s.upgrade, "upgrade", 2*time.Second, "time for which a node is not Ready in its upgrade")
	flag.StringVar(&s.record, "record", "",
		"record hcp-node-admin nodes --watch during an upgrade, and draw it in this file")
	save := benchmarks.SaveFlag()
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "fleet: the path of hcp-node-admin is missing: fleet [-sizes 100,300,1000] PROGRAM")
		os.Exit(2)
	}
	s.program, s.save = flag.Arg(0), *save
	klog.SetLogger(logr.Discard()) // clients of clusters that have ended log that
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if s.record != "" {
		err = recordWatch(ctx, s)
	} else {
		err = measureAll(ctx, s)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// measureAll prints the figures of the fleets and of the ignition server, and saves them if there was no error.
func measureAll(ctx context.Context, s settings) error {
	results, err := measureFleets(ctx, s)
	fetched, fetchErr := measureFetches(ctx, s.fetchers)
	if err = errors.Join(err, fetchErr); err != nil || len(results) == 0 {
		return err
	}
	return toResult(results, fetched, s.fetchers).Save(s.save)
}

// measureFleets measures a fleet of each size, and prints the figures. It returns an error if a rule was broken.
func measureFleets(ctx context.Context, s settings) ([]result, error) {
	requests := newRequestCounter()
	var results []result
	var broken []error
	for text := range strings.SplitSeq(s.sizes, ",") {
		if text == "" {
			continue
		}
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			return nil, fmt.Errorf("%q is not a number of nodes", text)
		}
		fmt.Fprintf(os.Stderr, "%s: %d nodes\n", time.Now().Format(time.TimeOnly), count)
		r, violations, err := measure(ctx, s, count, requests)
		if err != nil {
			return nil, fmt.Errorf("%d nodes: %w", count, err)
		}
		results = append(results, r)
		printTable(os.Stderr, []result{r})
		for _, violation := range violations {
			broken = append(broken, fmt.Errorf("%d nodes: %s", count, violation))
		}
	}
	if len(results) > 0 {
		printTable(os.Stdout, results)
		printChart(os.Stdout, results)
	}
	return results, errors.Join(broken...)
}
