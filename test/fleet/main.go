// SPDX-License-Identifier: Apache-2.0

// Command fleet measures how many nodes join at the same time with join tokens and without manual
// approval. Two approvers run concurrently, and some CSRs without a valid token are submitted.
// The command fails if a node is not approved, or is approved twice, or if one of the other CSRs
// is approved.
//
// Usage: fleet [-sizes 10,100,1000] AGENT, from inside the repository, as root
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	sizes := flag.String("sizes", "10,100,1000", "how many nodes, one run each")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "fleet: the path of hcp-node-admin is missing: fleet [-sizes 10,100,1000] PROGRAM")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measureAll(ctx, *sizes, flag.Arg(0))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func measureAll(ctx context.Context, sizes, program string) error {
	fmt.Printf("%6s %7s %9s %9s %11s %9s %11s %11s %10s %12s\n",
		"nodes", "foreign", "asked", "issued", "approved", "approver", "approvers", "per node", "approver", "waiting node")
	fmt.Printf("%6s %7s %9s %9s %11s %9s %11s %11s %10s %12s\n",
		"", "", "s", "s", "first+other", "CPU s", "received", "", "peak MiB", "received")
	for text := range strings.SplitSeq(sizes, ",") {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			return fmt.Errorf("%q is not a number of nodes", text)
		}
		r, err := measure(ctx, program, count)
		if err != nil {
			return fmt.Errorf("%d nodes: %w", count, err)
		}
		received := r.approvers[0].received + r.approvers[1].received
		fmt.Printf("%6d %7d %9.1f %9.1f %11s %9.1f %8d kB %8.1f kB %10.1f %9.1f kB\n", count, r.foreign,
			r.submitted.Seconds(), r.issued.Seconds(),
			fmt.Sprintf("%d+%d", r.approvers[0].approved, r.approvers[1].approved), max(r.approvers[0].cpu, r.approvers[1].cpu),
			received/1000, float64(received)/1000/float64(count), max(r.approvers[0].peak, r.approvers[1].peak),
			float64(r.waiting)/1000)
	}
	return nil
}
