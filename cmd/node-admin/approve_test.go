package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

func TestApproveRejectsInvalidFlags(t *testing.T) {
	dir := t.TempDir()
	config := writeTestFile(t, dir, "kubeconfig", kubeconfig(string(certtest.NewCA(t, "ca").PEM)))
	fingerprint := "SHA256:" + strings.Repeat("0", 64)
	for line, want := range map[string]string{
		"":                       "approve requires --kubeconfig",
		"--kubeconfig " + config: "exactly one of --enrollments DIR and --node NAME is required",
		"--enrollments " + dir + " --node a --kubeconfig " +
			config: "exactly one of --enrollments DIR and --node NAME is required",
		"--enrollments /gone --kubeconfig " +
			config: "--enrollments: stat /gone",
		"--enrollments " + config + " --kubeconfig " +
			config: "is not a directory",
		"--enrollments " + dir + " --fingerprint x --kubeconfig " +
			config: "require --node",
		"--enrollments " + dir + " --kubeconfig /gone": "--kubeconfig: open /gone",
		"--enrollments " + dir + " --kubeconfig -":     "reading the kubeconfig",
		"--enrollments " + dir + " --kubeconfig " +
			config: "runs a command to obtain its credential",
		"--node a --kubeconfig " +
			config: "requires --fingerprint, --address or both",
		"--node a --watch --fingerprint x --kubeconfig " +
			config: "--watch requires --enrollments",
		"--node a --address x --kubeconfig " +
			config: "\"x\" is not an IP address",
		"--node a --fingerprint " + fingerprint + " --kubeconfig " +
			writeTestFile(t, dir, "noca", kubeconfig("")): "kubeconfig",
	} {
		got := runCommandLine(t, append([]string{"approve"}, strings.Fields(line)...)...)
		if got.Code != report.Usage || got.Out != "" || !strings.HasPrefix(got.Err, "hcp-node-admin approve: ") || !strings.Contains(got.Err, want) {
			t.Errorf("%s: code %d, %s%s, want %q", line, got.Code, got.Out, got.Err, want)
		}
	}
}

// A decision is printed on one line, regardless of the text in a CSR.
func TestDecisionIsPrintedOnOneLine(t *testing.T) {
	recorded := approver.Event{Outcome: approver.Refused, Node: "worker\n\x1b[2J", CSR: "csr-1", Signer: "kubernetes.io/kubelet-serving", Key: "SHA256:00", Reason: "it\nis bad", Remedy: "look"}
	const want = "refused  \"worker\\n\\x1b[2J\" serving CSR csr-1 (key SHA256:00): it is bad; look"
	if got := eventText(recorded); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A CSR name that the requestor chose must not contain unescaped control characters in the
// output, and is quoted.
func TestApproveEscapesRequestorText(t *testing.T) {
	for name, want := range map[string]string{
		"csr-1":                    `serving CSR csr-1: with ESC\x1b[2J`,
		"\x1b[2J\x1b[1;1Happroved": `serving CSR "\x1b[2J\x1b[1;1Happroved": with`,
		"x\rapproved worker-9":     `serving CSR "x\rapproved worker-9": with`,
		"$(id>&2)":                 `serving CSR "$(id>&2)": with`,
		"x;touch pwned;#":          `serving CSR "x;touch pwned;#": with`,
		"-o":                       `serving CSR "-o": with`,
	} {
		var out, errOut bytes.Buffer
		p := newPrinter(cli.Streams{Out: &out, Err: &errOut})
		p.BindFlags(&cobra.Command{})
		p.Open()
		printEvent(p, approver.Event{
			Outcome: approver.Ignored, Node: "worker-1", CSR: name, Signer: "kubernetes.io/kubelet-serving", Reason: "with ESC\x1b[2J and \u202e",
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

// parseApproveFlags returns the flags of approve after parsing a command line.
func parseApproveFlags(t *testing.T, args []string) *pflag.FlagSet {
	t.Helper()
	c, err := admin().ParseLine(args)
	if err != nil || c.Name() != "approve" {
		t.Fatalf("%q: %v", args, err)
	}
	for _, needed := range []string{"enrollments", "watch", "kubeconfig"} {
		if !c.Flags().Changed(needed) {
			t.Errorf("%q lacks --%s", args, needed)
		}
	}
	return c.Flags()
}

func TestApproverUnit(t *testing.T) {
	content, err := os.ReadFile("../../systemd/hcp-node-admin-approver.service")
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		match := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(string(content))
		if match == nil {
			t.Fatalf("the unit has no %s", name)
		}
		return match[1]
	}
	flags := parseApproveFlags(t, strings.Fields(setting("ExecStart"))[1:])
	if path, _ := flags.GetString("kubeconfig"); path != "${CREDENTIALS_DIRECTORY}/kubeconfig" || !strings.HasPrefix(setting("LoadCredential"), "kubeconfig:") {
		t.Errorf("the kubeconfig is %s", path)
	}
	// Only root can read the directory that the package creates, and the unit does not run as
	// root.
	enrollments, _ := flags.GetString("enrollments")
	if setting("BindReadOnlyPaths") != setting("AssertPathIsDirectory")+":"+enrollments || strings.HasPrefix(enrollments, "/etc/") {
		t.Errorf("the enrollments are read at %s, shown are %s", enrollments, setting("BindReadOnlyPaths"))
	}
	for _, code := range []report.Code{report.Usage, report.CredentialRefused} {
		if !slices.Contains(strings.Fields(setting("RestartPreventExitStatus")), strconv.Itoa(int(code))) {
			t.Errorf("the unit is started again after %d", code)
		}
	}
	if setting("MemoryMax") != "256M" || setting("Environment") != "GOMEMLIMIT=160MiB" {
		t.Error("the unit is killed before it collects")
	}
	if setting("Type") != "notify" || setting("DynamicUser") != "yes" || setting("TimeoutStartSec") != "infinity" {
		t.Error("the unit does not wait for READY, or runs as somebody")
	}
}

func TestApproverDeployment(t *testing.T) {
	documents, err := rights.Documents("approver.yaml")
	if err != nil || len(documents) != 1 {
		t.Fatal(len(documents), err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(documents[0]), &deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	flags := parseApproveFlags(t, container.Args)
	var mounts []string
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly {
			t.Errorf("%s can be written to", mount.MountPath)
		}
		mounts = append(mounts, mount.MountPath)
	}
	enrollments, _ := flags.GetString("enrollments")
	path, _ := flags.GetString("kubeconfig")
	if !slices.Equal(mounts, []string{enrollments, strings.TrimSuffix(path, "/kubeconfig")}) || len(pod.Volumes) != 2 {
		t.Errorf("mounted are %q, used %s and %s", mounts, enrollments, path)
	}
	security := container.SecurityContext
	if !*pod.SecurityContext.RunAsNonRoot || *pod.AutomountServiceAccountToken || !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation || security.Capabilities.Drop[0] != "ALL" {
		t.Error("the pod has more rights than it needs")
	}
}
