// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
)

// TestRefusedAndNothingChanged checks that invalid input causes one clear message and the correct
// exit code, and that the host remains unchanged.
func TestRefusedAndNothingChanged(t *testing.T) {
	ctx := newContext(t)
	before := hostState(ctx, t)
	server := environment.ControlPlane.AdminClient
	for name, test := range map[string]struct {
		spoil    func() error
		args     string
		code     report.Code
		messages []string
	}{
		"expired token": {
			func() error { return server.ExpireTokens(ctx) }, "",
			report.CredentialRefused,
			[]string{"511", "expired", "oc "},
		},
		"wrong CA": {
			func() error { return server.SetFaults(ctx, bed.Faults{Certificate: bed.CertificateWrongCA}) }, "",
			report.Refused,
			[]string{"certificate", "CA"},
		},
		"wrong name": {
			func() error { return server.SetFaults(ctx, bed.Faults{Certificate: bed.CertificateWrongName}) }, "",
			report.Refused,
			[]string{"--connect-to"},
		},
		"truncated payload": {
			func() error { return server.SetFaults(ctx, bed.Faults{TruncateAfter: 20_000}) }, "--timeout 2m",
			report.Failed,
			[]string{"the transfer ended after 20000 bytes"},
		},
		"clock": {
			func() error { return server.SetFaults(ctx, bed.Faults{DateSkewSeconds: 3600}) }, "",
			report.Refused,
			[]string{"clock", "chronyc"},
		},
		"Ignition 2.x": {
			func() error {
				return server.ReplacePayloadUnchecked(ctx, []byte(`{"ignition":{"version":"2.2.0"},"storage":{},"systemd":{}}`))
			}, "",
			report.Usage,
			[]string{"2.2.0"},
		},
		"unit of a package that is not installed": {
			func() error { return server.ReplacePayload(ctx, payloadWithUnit(t, "smartd.service")) }, "",
			report.Refused,
			[]string{"smartd.service"},
		},
		"no login left": {
			func() error {
				const config = "data:,PermitRootLogin%20no%0A"
				return server.ReplacePayload(ctx, payloadWith(t, "storage", "files", map[string]any{
					"path": sshdDropIn, "mode": 0o600, "contents": map[string]any{"source": config},
				}))
			}, "",
			report.Refused,
			[]string{
				"no user could log in to this host with SSH", "now these users can: root", "permitrootlogin no",
				"--payload-drop=" + sshdDropIn,
			},
		},
		"release of the payload": {
			func() error { return server.ReplacePayload(ctx, payloadWithOSImage(t, pushOSImage(t))) }, "",
			report.Refused,
			[]string{
				"is installed, but the payload is of OpenShift 4.18 and requires kubelet 1.31",
				"dnf downgrade 'openshift-kubelet-4.18.*'",
			},
		},
		"not user data": {
			func() error { return nil }, "--user-data /etc/hostname",
			report.Usage,
			[]string{"user data"},
		},
		"no such interface": {
			func() error { return nil }, "--bridge-interface eth7",
			report.Refused,
			[]string{"eth7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, server.Reset(ctx))
			must(t, environment.CopyInputs(ctx))
			must(t, test.spoil())
			result := runAgent(ctx, t, test.code, joinCommand+" "+test.args)
			checkContains(t, result.Stdout+result.Stderr, test.messages...)
			checkHostState(ctx, t, before)
			// An error before any change must not even create the directory.
			left := mustOutput(ctx, t,
				"test ! -e /var/lib/hcp-node-agent || find /var/lib/hcp-node-agent -mindepth 1")
			if left != "" {
				t.Errorf("the agent's directory contains %s", left)
			}
		})
	}
}

// sshdDropIn is a file that payloads of compliance profiles have.
const sshdDropIn = "/etc/ssh/sshd_config.d/76-disable-root-login.conf"

// payloadWithUnit returns the control plane's payload with one more enabled unit.
func payloadWithUnit(t *testing.T, name string) []byte {
	t.Helper()
	return payloadWith(t, "systemd", "units", map[string]any{"name": name, "enabled": true})
}

// payloadWith returns the control plane's payload with one more entry in a list of a section.
func payloadWith(t *testing.T, section, list string, entry map[string]any) []byte {
	t.Helper()
	payload := servedPayload(t)
	parts, _ := payload[section].(map[string]any)
	entries, _ := parts[list].([]any)
	parts[list] = append(entries, entry)
	content, err := json.Marshal(payload)
	must(t, err)
	return content
}

func TestDeniedRequest(t *testing.T) {
	ctx := newContext(t)
	before := hostState(ctx, t)
	out := runUntilOutput(ctx, t, "hcp-node-agent "+joinByUserData+"; echo exit code $?",
		"oc adm certificate approve node-csr-", func() {
			if n := decideCSRs(ctx, t, certificatesv1.CertificateDenied); n != 1 {
				t.Errorf("%d CSRs to deny", n)
			}
		})
	t.Log(out)
	checkContains(t, out, "denied", "decided by the test", "exit code 5")
	runAgent(ctx, t, report.Success, "leave")
	checkHostState(ctx, t, before)
}

// TestLateApprovalTimesOut checks that a missing approval has its own exit code, and that the
// same command resumes later.
func TestLateApprovalTimesOut(t *testing.T) {
	ctx := newContext(t)
	const approve = "oc adm certificate approve node-csr-"
	first := runUntilOutput(ctx, t, "hcp-node-agent "+joinByUserData, approve, func() {
		_, err := environment.Machine.Run(ctx, "kill -9 $(pidof hcp-node-agent)")
		must(t, err)
	})
	// All steps before the approval are done, so the timeout expires during the wait.
	result := runAgent(ctx, t, report.ApprovalMissing, "join --timeout 3m")
	_, request, _ := strings.Cut(first, approve)
	request, _, _ = strings.Cut(request, "\n")
	checkContains(t, result.Stdout, approve+request) // the same CSR, not a new one
	checkContains(t, runAgent(ctx, t, report.Failed, "doctor").Stdout,
		`has not finished: the last completed step is "runtime", the next is "client-certificate"`,
		"client CSR node-csr-"+request+" (key SHA256:", " has been waiting for approval for ", approve+request,
		"eth0 is in br-ex with 192.0.2.")
	if n := decideCSRs(ctx, t, certificatesv1.CertificateApproved); n != 1 {
		t.Fatalf("%d CSRs to approve", n)
	}
	runAgent(ctx, t, report.Success, "join --until client-certificate")
	if state := mustOutput(ctx, t, "systemctl is-active kubelet || true"); state != "inactive" {
		t.Errorf("kubelet is %s after --until client-certificate", state)
	}
}

func mustOutput(ctx context.Context, t *testing.T, command string) string {
	t.Helper()
	out, err := environment.Machine.Output(ctx, command)
	must(t, err)
	return out
}
