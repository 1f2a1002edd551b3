// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// restoreScript leaves the cluster if the agent has a record of a join, and removes what the test has put on the host.
// It can be repeated.
const restoreScript = `
pkill -INT -x ping
if [ -e /var/lib/hcp-node-agent/ledger.log ]; then
	hcp-node-agent leave --yes --purge || exit
fi
if [ -e ` + remotePackage + ` ]; then
	dnf remove -y hcp-node-agent || exit
fi
rm -rf ` + remoteDir

// restore restores a host on which a run was killed.
func restore(ctx context.Context, h *host, o options) error {
	if _, err := h.output(ctx, "ls -d "+remoteDir); err != nil {
		return errors.New(o.host + " has no files of a run of this command")
	}
	out, err := h.output(ctx, restoreScript)
	fmt.Println(out)
	return err
}

// finish collects what only the joined host has, restores the host, and compares its state.
func (s *session) finish(ctx context.Context) error {
	var err error
	// The path and the pid of each denial differ; a policy permits its type.
	denials := "LC_ALL=C ausearch -m avc,user_avc -ts " + s.result.facts["time"] + " 2>/dev/null | grep -a denied | " +
		"sed 's/^.*avc: *//; s/pid=[0-9]* //' | sort | uniq -c | head -n 100; exit 0"
	if s.result.denials, err = s.host.output(ctx, denials); err != nil {
		return err
	}
	if _, err := s.host.output(ctx, restoreScript); err != nil {
		return fmt.Errorf("%w\nrun this command again with -restore", err)
	}
	after, err := s.host.state(ctx)
	if err != nil {
		return err
	}
	s.result.differences, s.result.restored = compare(s.before, after), true
	if n := len(s.result.differences); n > 0 {
		fmt.Printf("\ndifferences to the host before: %d\n  %s\n", n, strings.Join(s.result.differences[:min(n, 20)], "\n  "))
	}
	return nil
}
