// SPDX-License-Identifier: Apache-2.0

// Command acceptance tests the agent on a real host over ssh: it joins the host to a hosted cluster, uses the node,
// leaves, compares the host before and after, and writes a report in Markdown. The host needs nothing but ssh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the flags of the command.
type options struct {
	host, ssh               string
	userData, pkg           string
	kubeconfig, joinOptions string
	output                  string
	restoreOnly             bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
}

func parseFlags() (options, error) {
	var o options
	flag.StringVar(&o.host, "host", "", "`ADDRESS` of the host as ssh expects it, such as root@host")
	flag.StringVar(&o.ssh, "ssh", "ssh", "`COMMAND` that is ssh, with its options")
	flag.StringVar(&o.userData, "user-data", "", "`FILE` with the user data of the NodePool")
	flag.StringVar(&o.pkg, "package", "", "RPM `FILE` of hcp-node-agent (default: the agent that the host has)")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` of an administrator of the hosted cluster, which approves "+
		"the CSRs, runs a pod and deletes the Node; without it, you approve the CSRs, and no pod is run")
	flag.StringVar(&o.joinOptions, "join-options", "", "more `OPTIONS` of hcp-node-agent join")
	flag.StringVar(&o.output, "output", "",
		"`DIRECTORY` for the report and the output of each step (default build/acceptance/HOST)")
	flag.BoolVar(&o.restoreOnly, "restore", false, "only restore a host after a run of this command that was killed")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case o.host == "" || strings.HasPrefix(o.host, "-"):
		return o, errors.New("-host is required, such as root@host.example.com")
	case o.userData == "" && !o.restoreOnly:
		return o, errors.New("-user-data is required: the user data of the NodePool, as hcp-node-admin user-data writes it")
	}
	if o.output == "" {
		_, name, found := strings.Cut(o.host, "@")
		if !found {
			name = o.host
		}
		o.output = filepath.Join("build", "acceptance", name)
	}
	return o, nil
}

func run(ctx context.Context) error {
	o, err := parseFlags()
	if err != nil {
		return err
	}
	h, err := connect(ctx, o.ssh, o.host)
	if err != nil {
		return err
	}
	defer h.close()
	if o.restoreOnly {
		return restore(ctx, h, o)
	}
	if err := os.MkdirAll(o.output, 0o700); err != nil {
		return err
	}
	result, err := accept(ctx, h, o)
	if result == nil {
		return err
	}
	path := filepath.Join(o.output, "report.md")
	if writeErr := os.WriteFile(path, []byte(result.markdown()), 0o600); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	fmt.Printf("\nreport: %s\n", path)
	if err == nil && !result.passed() {
		err = errors.New("not everything is as expected; the report lists what")
	}
	return err
}

// accept runs all steps on a host, and restores it, also after a failure and after an interrupt. It returns nil if the
// host was refused, and not changed.
func accept(ctx context.Context, h *host, o options) (*result, error) {
	facts, err := gatherFacts(ctx, h)
	if err != nil {
		return nil, err
	}
	if reasons := facts.refusals(o.pkg != ""); len(reasons) > 0 {
		return nil, fmt.Errorf("%s is refused, and was not changed:\n  %s", o.host, strings.Join(reasons, "\n  "))
	}
	s := &session{host: h, options: o, result: &result{host: o.host, started: time.Now(), facts: facts}}
	if s.before, err = h.state(ctx); err != nil {
		return nil, err
	}
	err = s.steps(ctx)
	if ctx.Err() != nil {
		s.result.interrupted = true
		fmt.Println("\ninterrupted: restoring the host")
	}
	// The host must be restored, whatever happened.
	restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	return s.result, errors.Join(err, s.finish(restoring))
}

// restoreTimeout limits the restoration of the host, with a drain.
const restoreTimeout = time.Hour
