// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestApproveRejectsInvalidFlags(t *testing.T) {
	withoutKubeconfig(t)
	dir := t.TempDir()
	config := writeTestFile(t, dir, "kubeconfig", kubeconfig(string(certtest.NewCA(t, "ca").PEM)))
	fingerprint := "SHA256:" + strings.Repeat("0", 64)
	for line, want := range map[string]string{
		"":                         "the name of one node or CSR is required",
		"a":                        "no kubeconfig was found",
		"a --kubeconfig /gone":     "reading the kubeconfig: stat /gone",
		"a --kubeconfig -":         "no kubeconfig was found",
		"a --kubeconfig " + config: "runs a command to obtain its credential",
		"a --enrollments " + dir:   "unknown flag: --enrollments",
		"a --watch":                "unknown flag: --watch",
		"--node a --fingerprint x": "unknown flag: --node",
		"a --address x":            "\"x\" is not an IP address",
		"A/b --address 192.0.2.7 --kubeconfig " + writeTestFile(t, dir, "token",
			strings.Replace(kubeconfig(string(certtest.NewCA(t, "ca").PEM)), "{exec: {", "{token: t}}, {name: other, user: "+
				"{exec: {", 1)): "is not a valid node name",
		"a --fingerprint " + fingerprint + " --kubeconfig " +
			writeTestFile(t, dir, "noca", kubeconfig("")): "kubeconfig",
	} {
		got := runCommandLine(t, append([]string{"approve"}, strings.Fields(line)...)...)
		if got.Code != report.Usage || got.Out != "" || !strings.HasPrefix(got.Err, "hcp-node-admin approve: ") ||
			!strings.Contains(got.Err, want) {
			t.Errorf("%s: code %d, %s%s, want %q", line, got.Code, got.Out, got.Err, want)
		}
	}
}

// A decision is printed on one line, regardless of the text in a CSR.
func TestDecisionIsPrintedOnOneLine(t *testing.T) {
	recorded := approver.Event{
		Outcome: approver.Approved,
		Node:    "worker",
		CSR:     "csr\n1",
		Signer:  "kubernetes.io/kubelet-serving",
		Key:     "SHA256:00",
		Reason:  "it\nis bad",
	}
	const want = `approved worker       serving CSR "csr\n1" (key SHA256:00): it is bad`
	if got := eventText(recorded); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A CSR name that the requestor chose must not contain unescaped control characters in the
// output, and is quoted.
func TestApproveEscapesRequestorText(t *testing.T) {
	for name, want := range map[string]string{
		"csr-1":                    `serving CSR csr-1 (key SHA256:00): with ESC\x1b[2J`,
		"\x1b[2J\x1b[1;1Happroved": `serving CSR "\x1b[2J\x1b[1;1Happroved" (key SHA256:00): with`,
		"x\rapproved worker-9":     `serving CSR "x\rapproved worker-9" (key SHA256:00): with`,
		"$(id>&2)":                 `serving CSR "$(id>&2)" (key SHA256:00): with`,
		"x;touch pwned;#":          `serving CSR "x;touch pwned;#" (key SHA256:00): with`,
		"-o":                       `serving CSR "-o" (key SHA256:00): with`,
	} {
		var out, errOut bytes.Buffer
		p := newPrinter(cli.Streams{Out: &out, Err: &errOut})
		p.BindFlags(&cobra.Command{})
		p.Open()
		printEvent(p, approver.Event{
			Outcome: approver.Approved,
			Node:    "worker-1",
			CSR:     name,
			Signer:  "kubernetes.io/kubelet-serving",
			Key:     "SHA256:00",
			Reason:  "with ESC\x1b[2J and \u202e",
		})
		if got := out.String(); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\r\u202e") {
			t.Errorf("%q, want %q", got, want)
		}
		p.Failure("hcp-node-admin approve", report.Fail(report.Failed, "see \x1b[2J", "the CSR %s", name))
		if got := errOut.String(); strings.ContainsAny(got, "\x1b\r") {
			t.Errorf("the failure is %q", got)
		}
	}
}
