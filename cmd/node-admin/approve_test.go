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
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
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
		"a --enrollments " + dir:   "unknown flag: --enrollments",
		"a --watch":                "unknown flag: --watch",
		"--node a --fingerprint x": "unknown flag: --node",
		"a --address x":            "unknown flag: --address",
		"A/b --fingerprint x --kubeconfig " + config: "is not a valid node name",
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

// A CSR name that the requestor chose must not contain unescaped control characters in the
// output, and is quoted.
func TestApproveEscapesRequestorText(t *testing.T) {
	for name, want := range map[string]string{
		"csr-1":                    `approved: serving CSR csr-1 of worker-1, age`,
		"\x1b[2J\x1b[1;1Happroved": `approved: serving CSR "\x1b[2J\x1b[1;1Happroved" of worker-1, age`,
		"x\rapproved worker-9":     `approved: serving CSR "x\rapproved worker-9" of worker-1, age`,
		"$(id>&2)":                 `approved: serving CSR "$(id>&2)" of worker-1, age`,
		"x;touch pwned;#":          `approved: serving CSR "x;touch pwned;#" of worker-1, age`,
		"-o":                       `approved: serving CSR "-o" of worker-1, age`,
	} {
		var out, errOut bytes.Buffer
		p := newPrinter(cli.Streams{Out: &out, Err: &errOut})
		p.BindFlags(&cobra.Command{})
		p.Open()
		review := approver.Review{Node: "worker-1", Findings: []report.Finding{
			{Severity: report.SeverityWarning, Check: "addresses", Message: "with ESC\x1b[2J and \u202e"},
		}}
		review.Name, review.Signer, review.State = name, "kubernetes.io/kubelet-serving", approver.CSRApproved
		review.Requestor, review.Key = "a\x1b[2J\r", "SHA256:00"
		if err := printReviews(p, []approver.Review{review}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(got, want) || strings.ContainsAny(out.String(), "\x1b\r\u202e") {
			t.Errorf("%q, want %q", out.String(), want)
		}
		p.Failure("hcp-node-admin approve", report.Fail(report.Failed, "see \x1b[2J", "the CSR %s", name))
		if got := errOut.String(); strings.ContainsAny(got, "\x1b\r") {
			t.Errorf("the failure is %q", got)
		}
	}
}

// The kubeconfig of a management cluster is refused before anything is read or approved.
func TestApproveRefusesManagementCluster(t *testing.T) {
	server := apitest.Start(t, apitest.HyperShift)
	file := writeTestFile(t, t.TempDir(), "kubeconfig", string(server.Kubeconfig(t)))
	for _, args := range [][]string{{"a"}, {"a", "--fingerprint", "SHA256:" + strings.Repeat("0", 64)}} {
		args = append([]string{"approve", "--kubeconfig", file}, args...)
		got := runCommandLine(t, args...)
		if got.Code != report.Refused || !strings.Contains(got.Err, "is a management cluster") ||
			!strings.Contains(got.Err, "--allow-management-cluster approves nodes of the management cluster itself") {
			t.Errorf("%q: %+v", args, got)
		}
		got = runCommandLine(t, append(args, "--allow-management-cluster")...)
		if got.Code != report.ApprovalMissing || !strings.Contains(got.Err, "no CSR of a ") {
			t.Errorf("%q, allowed: %+v", args, got)
		}
	}
}
