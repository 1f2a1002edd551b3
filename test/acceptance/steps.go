// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Files of the test on the host.
const (
	remoteDir      = "/root/hcp-node-agent-acceptance"
	remoteUserData = remoteDir + "/user-data.ign"
	remotePackage  = remoteDir + "/hcp-node-agent.rpm"
	pingLog        = remoteDir + "/ping.log"
)

// session is one run of the test.
type session struct {
	host    *host
	options options
	before  []string // state of the host
	result  *result
}

// steps runs all steps until one fails.
func (s *session) steps(ctx context.Context) error {
	join, leave := "hcp-node-agent join --user-data "+remoteUserData, "hcp-node-agent leave --yes --purge"
	if s.options.joinOptions != "" {
		join += " " + s.options.joinOptions
	}
	if s.options.kubeconfig != "" {
		join, leave = join+" --approve-with -", leave+" --delete-node -"
	}
	for _, step := range []struct {
		name string
		run  func(context.Context, string) error
	}{
		{"install", s.install},
		{"preflight", s.command("hcp-node-agent preflight --user-data " + remoteUserData)},
		{"plan", s.command("hcp-node-agent plan --user-data " + remoteUserData + " " + s.options.joinOptions)},
		{"interrupted join", s.withPing(s.command(interrupted(join)))},
		{"join", s.command(join)},
		{"status", s.command("hcp-node-agent status")},
		{"versions", s.joined},
		{"pod", s.pod},
		{"join again", s.command("hcp-node-agent join")},
		{"reboot", s.rebooted},
		{"doctor", s.command("hcp-node-agent doctor")},
		{"upgrade to the same payload", s.command("hcp-node-agent upgrade --user-data " + remoteUserData)},
		{"leave", s.withPing(s.command(leave))},
	} {
		began := time.Now()
		fmt.Printf("\n== %s\n", step.name)
		err := step.run(ctx, step.name)
		if errors.Is(err, errNotRun) {
			fmt.Println(err)
		}
		s.result.steps = append(s.result.steps, stepResult{step.name, time.Since(began), err})
		if err != nil && !errors.Is(err, errNotRun) {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// interrupted returns a script that kills a join when the default route has moved to br-ex, before the new network is
// verified. It fails if the join ends before that.
func interrupted(join string) string {
	return `exec 3<&0 # the shell gives /dev/null to a process in the background
` + join + ` <&3 &
pid=$!
until (ip route show default dev br-ex; ip -6 route show default dev br-ex) 2>/dev/null | grep -q .; do
	kill -0 $pid || exit 1
	sleep 0.1
done
kill -KILL $pid`
}

// errNotRun is wrapped by the reasons of steps that were not run.
var errNotRun = errors.New("not run")

// command returns a step that runs a command, which must succeed. Its standard input is the kubeconfig,
// if there is one.
func (s *session) command(script string) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		var stdin io.Reader
		if s.options.kubeconfig != "" {
			content, err := os.ReadFile(s.options.kubeconfig)
			if err != nil {
				return err
			}
			stdin = bytes.NewReader(content)
		}
		log, err := os.Create(filepath.Join(s.options.output, strings.ReplaceAll(name, " ", "-")+".log"))
		if err != nil {
			return err
		}
		defer log.Close()
		ended, err := s.host.run(ctx, script, stdin, io.MultiWriter(os.Stdout, log))
		if err == nil && ended.code != 0 {
			err = fmt.Errorf("exit code %d; the output is in %s", ended.code, log.Name())
		}
		return err
	}
}

// install copies the files to the host, and installs the package.
func (s *session) install(ctx context.Context, name string) error {
	if _, err := s.host.output(ctx, "mkdir -m 700 "+remoteDir); err != nil {
		return err
	}
	if err := s.host.put(ctx, s.options.userData, remoteUserData); err != nil {
		return err
	}
	if s.options.pkg == "" {
		return nil
	}
	if err := s.host.put(ctx, s.options.pkg, remotePackage); err != nil {
		return err
	}
	return s.command("dnf install -y "+remotePackage)(ctx, name)
}

// ping pings the gateway of the host in the background.
const ping = `gateway=$(ip route show default | sed -n 's/^default via \([^ ]*\).*/\1/p' | head -n 1)
nohup ping -n -D -i 0.05 "${gateway:-127.0.0.1}" >` + pingLog + ` 2>&1 </dev/null &`

// withPing returns a step during which the host pings its gateway 20 times a second.
func (s *session) withPing(step func(context.Context, string) error) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		if _, err := s.host.output(ctx, ping); err != nil {
			return err
		}
		err := step(ctx, name)
		log, pingErr := s.host.output(ctx, "pkill -INT -x ping; cat "+pingLog)
		if pingErr == nil {
			s.result.outages = append(s.result.outages, outage{name, longestOutage(log)})
		}
		return errors.Join(err, pingErr)
	}
}

// joined adds the versions of the node, and what the agent has measured itself.
func (s *session) joined(ctx context.Context, _ string) (err error) {
	if s.result.versions, err = gatherFacts(ctx, s.host); err != nil {
		return err
	}
	out, err := s.host.output(ctx, "hcp-node-agent status --output json")
	if err != nil {
		return err
	}
	s.result.migration, err = migrationOf(out)
	return err
}

// pod runs a pod on the node.
func (s *session) pod(ctx context.Context, _ string) error {
	if s.options.kubeconfig == "" {
		return fmt.Errorf("%w: it needs -kubeconfig", errNotRun)
	}
	cluster, err := connectCluster(s.options.kubeconfig)
	if err != nil {
		return err
	}
	node, err := s.host.output(ctx,
		`sed -n 's/.*"nodeName": *"\([^"]*\)".*/\1/p' /var/lib/hcp-node-agent/join.json | head -n 1`)
	if err != nil {
		return err
	}
	image, err := s.host.output(ctx, `crio config 2>/dev/null | sed -n 's/^pause_image = "\(.*\)"/\1/p'`)
	if err != nil {
		return err
	}
	return cluster.runPod(ctx, node, image)
}

// rebooted reboots the host, and waits until its node is healthy.
func (s *session) rebooted(ctx context.Context, name string) error {
	if err := s.host.reboot(ctx); err != nil {
		return err
	}
	return s.command("until hcp-node-agent status; do sleep 5; done")(ctx, name)
}
