// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const idle = "os=RHEL\nagent=1\nagentPackage=hcp-node-agent-0.1.0-1.x86_64\njoined=\nkubeletState=inactive\nbridge=\n" +
	"podman=0\ndocker=\ncrictl=0\nguests=0\nmachines=0\n"

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		old, new   string
		hasPackage bool
		want       string
	}{
		"idle":              {},
		"joined":            {"joined=", "joined=/var/lib/hcp-node-agent/join.json", false, "the agent has joined it"},
		"a node":            {"kubeletState=inactive", "kubeletState=active", false, "it runs kubelet"},
		"another bridge":    {"bridge=", "bridge=/sys/class/net/br-ex", false, "it has the bridge br-ex"},
		"containers":        {"podman=0", "podman=2", false, "it runs containers"},
		"guests":            {"guests=0", "guests=1", false, "it runs virtual machines"},
		"no agent":          {"agent=1\n", "agent=\n", false, "use -package FILE"},
		"a package already": {"", "", true, "it has the package hcp-node-agent-0.1.0-1.x86_64 already"},
	} {
		f := parseFacts(strings.Replace(idle, test.old, test.new, 1))
		got := strings.Join(f.refusals(test.hasPackage), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestLongestOutage(t *testing.T) {
	const log = `PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
[100.000000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.1 ms
[100.050000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=0.1 ms
[100.100000] From 192.0.2.7 icmp_seq=3 Destination Host Unreachable
[100.250000] 64 bytes from 192.0.2.1: icmp_seq=5 ttl=64 time=0.1 ms
[100.300000] 64 bytes from 192.0.2.1: icmp_seq=6 ttl=64 time=0.1 ms
`
	if got := longestOutage(log).Round(time.Millisecond); got != 200*time.Millisecond {
		t.Errorf("the longest outage is %s", got)
	}
	if got := longestOutage("connect: Network is unreachable\n"); got >= 0 {
		t.Errorf("without replies it is %s", got)
	}
}

func TestCompare(t *testing.T) {
	before := []string{"file /etc/a f", "file /var/lib/rpm/a f 1", "content 00 /etc/b", "route default"}
	after := []string{"file /etc/a f", "file /var/lib/rpm/a f 2", "content 01 /etc/b", "bridge x", "route default"}
	want := []string{"- content 00 /etc/b", "+ content 01 /etc/b", "+ bridge x"}
	if diff := cmp.Diff(want, compare(before, after)); diff != "" {
		t.Error(diff)
	}
}

func TestMigrationOf(t *testing.T) {
	got, err := migrationOf(`{"bridge": {"outage": {"longestSeconds": 0.041, "sent": 500, "received": 497}}}`)
	if err != nil || got != "0.041 s (497 of 500 echo requests answered)" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := migrationOf(`{"bridge": {}}`); err != nil || got != "" {
		t.Errorf("without a measurement: %q, %v", got, err)
	}
}

func TestReport(t *testing.T) {
	r := result{
		host: "root@host", started: time.Now(), facts: parseFacts(idle), versions: facts{"kubelet": "Kubernetes v1.34.0"},
		steps: []stepResult{
			{"join", 61 * time.Second, nil},
			{"pod", 0, fmt.Errorf("%w: it needs -kubeconfig", errNotRun)},
		},
		outages:  []outage{{"join", 210 * time.Millisecond}, {"leave", -1}},
		restored: true,
	}
	check := func(name string, want ...string) {
		t.Helper()
		for _, text := range want {
			if got := r.markdown(); !strings.Contains(got, text) {
				t.Errorf("%s: the report does not contain %q:\n%s", name, text, got)
			}
		}
	}
	check("passed", "Outcome: passed.", "| kubelet |  | Kubernetes v1.34.0 |\n", "| join | 61.0 | passed |\n",
		"| pod | 0.0 | not run: it needs -kubeconfig |\n", "| join | 0.210 s", "| leave | the gateway did not reply |\n",
		"are as before.", "None.")
	r.differences = []string{"+ file /etc/left"}
	check("different", "Outcome: **not passed**.", "+ file /etc/left\n")
	r.differences, r.denials = nil, "  1 denied { write }"
	check("denied", "Outcome: **not passed**.", "denied { write }")
	r.denials, r.interrupted = "", true
	check("interrupted", "Outcome: **not passed**, interrupted.")
	r.interrupted, r.steps[0].err = false, errors.New("exit code 3\nof | join")
	check("failed", "Outcome: **not passed**.", `| join | 61.0 | exit code 3; of \| join |`)
	r.steps, r.restored = nil, false
	check("not restored", "Outcome: **not passed**.", "The state was not compared.")
}
