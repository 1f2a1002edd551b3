// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// testDoctorBeforeJoin runs doctor on a machine that has never joined, without and with user data. It
// must find no obstacle to a join.
func testDoctorBeforeJoin(ctx context.Context, t *testing.T) {
	t.Helper()
	checkContains(t, runAgent(ctx, t, report.Success, "doctor").Stdout, "has not joined a cluster",
		"the ignition server was not checked")
	result := runAgent(ctx, t, report.Success, "doctor --user-data "+testenv.UserDataPath)
	if strings.Contains(result.Stdout, "the ignition server was not checked") {
		t.Error("with user data doctor did not check the ignition server")
	}
	if left := mustOutput(ctx, t, "ls /var/lib/hcp-node-agent 2>/dev/null || true"); left != "" {
		t.Errorf("doctor created %s", left)
	}
}

// testDoctorOfHealthyNode runs doctor on a healthy node.
func testDoctorOfHealthyNode(ctx context.Context, t *testing.T) {
	t.Helper()
	out := runAgent(ctx, t, report.Success, "doctor").Stdout
	checkContains(t, out, "joined NodePool clusters/",
		"running: NetworkManager.service, openvswitch.service, crio.service, kubelet.service",
		"eth0 is in br-ex with 192.0.2.",
		")", "kubelet's client certificate of CN=system:node:worker-0",
		"kubelet's serving certificate of CN=system:node:worker-0",
		"Node worker-0 is Ready and schedulable")
	findings := doctorFindings(ctx, t)
	if !slices.ContainsFunc(findings,
		func(f finding) bool { return f.Check == "validate" && f.Severity == report.SeverityOK }) {
		t.Error("doctor did not run the checks that need the payload")
	}
	for _, f := range findings {
		for _, incomplete := range []string{"the check failed", "the check took longer than", "root is required"} {
			if f.Severity == report.SeverityProblem || strings.Contains(f.Message, incomplete) {
				t.Errorf("finding about a healthy node: %+v", f)
			}
		}
	}
	asUser := mustOutput(ctx, t, "setpriv --reuid 65534 --regid 65534 --clear-groups hcp-node-agent doctor")
	checkContains(t, asUser, "some checks require root and are limited", "root is required: reading the state of the join")
}

// finding is a finding in the document of doctor.
type finding struct {
	Check    string
	Severity report.Severity
	Message  string
}

// doctorFindings returns the findings of doctor about a node without problems.
func doctorFindings(ctx context.Context, t *testing.T) []finding {
	t.Helper()
	var document struct{ Findings []finding }
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "doctor --output json").Stdout), &document))
	return document.Findings
}

// testDoctorOfStoppedKubelet runs doctor on a node whose kubelet does not run. What a support case needs must
// contain no secret of the host. It starts kubelet again.
func testDoctorOfStoppedKubelet(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, "systemctl stop kubelet")
	out := runAgent(ctx, t, report.Failed, "doctor").Stdout
	checkContains(t, out, "kubelet.service is not running (inactive", "systemctl start kubelet")

	var document struct {
		ExitCode report.Code
		Phase    string
	}
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Failed, "doctor --output json").Stdout), &document))
	if document.ExitCode != report.Failed || document.Phase != "joined" {
		t.Errorf("%+v", document)
	}
	found := mustOutput(ctx, t, `umask 077; cd /root
		jq -r '.ignition.config.merge[].httpHeaders[] | select(.name == "Authorization") | .value' user-data.ign | sed 's/^Bearer //' >needles
		jq -r '.auths[] | .auth, (.auth | @base64d), (.auth | @base64d | sub("^[^:]*:"; ""))' /var/lib/kubelet/config.json | grep . >>needles
		sed -n '/PRIVATE KEY/,/PRIVATE KEY/p' /var/lib/kubelet/pki/kubelet-client-current.pem | grep -v -- ----- >>needles
		[ "$(wc -l <needles)" -ge 5 ] && echo found secrets to search for
		for command in 'doctor -o json' 'status -o json' 'leave --dry-run -o json' 'config show'; do
			hcp-node-agent $command 2>&1 || :
		done >output
		journalctl -b -u hcp-node-agent >>output
		[ "$(grep -c '"kind":' output)" -ge 3 ] && echo found documents
		grep -qFf needles output || echo no secret is in the output
		rm needles output`)
	if found != "found secrets to search for\nfound documents\nno secret is in the output" {
		t.Errorf("the output: %s", found)
	}
	mustOutput(ctx, t, "systemctl start kubelet")
}
