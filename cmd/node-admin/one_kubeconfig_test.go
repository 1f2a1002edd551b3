// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

// oneKubeconfig is a management cluster and its hosted cluster, with the kubeconfig of the former.
type oneKubeconfig struct {
	management, hosted *apitest.Server
	file               string
}

func startOneKubeconfig(t *testing.T) *oneKubeconfig {
	t.Helper()
	withoutKubeconfig(t)
	t.Chdir(t.TempDir())
	o := &oneKubeconfig{
		management: apitest.Start(t, apitest.HyperShift), hosted: apitest.Start(t, apitest.Enrollments),
	}
	o.file = writeTestFile(t, t.TempDir(), "kubeconfig", string(o.management.Kubeconfig(t)))
	o.createHostedCluster(t, "hosted")
	o.management.Set(t, hyperShiftObject("NodePool", "workers", map[string]any{
		"spec": map[string]any{"clusterName": "hosted", "platform": map[string]any{"type": "None"}},
	}), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "admin-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": o.hosted.Kubeconfig(t)},
	})
	ready := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	ready.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(time.Now()),
	}}
	enrolled := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	enrolled.Spec.NodePool = "workers"
	o.hosted.Set(t, ready, enrolled)
	return o
}

func hyperShiftObject(kind, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: apitest.HyperShift, Version: "v1beta1", Kind: kind})
	object.SetNamespace("clusters")
	object.SetName(name)
	return object
}

func (o *oneKubeconfig) createHostedCluster(t *testing.T, name string) {
	t.Helper()
	o.management.Set(t, hyperShiftObject("HostedCluster", name, map[string]any{
		"status": map[string]any{"kubeconfig": map[string]any{"name": "admin-kubeconfig"}},
	}))
}

// ofController matches the commands of the controller, whose argument is the HostedCluster.
var ofController = regexp.MustCompile(
	`^hcp-node-admin controller \w+ hosted( --[a-z]+( IMAGE)?)* --namespace clusters --kubeconfig FILE( #|$)`)

// Each command works with the kubeconfig of the management cluster, and each command that it prints is for the same
// clusters.
func TestPrintedCommandsKeepTheCluster(t *testing.T) {
	lines := map[string][]string{ // command lines, with a printed command
		"nodes":                {"nodes worker-9", "hcp-node-admin nodes"},
		"describe":             {"describe worker-9", "hcp-node-admin nodes"},
		"approve":              {"approve worker-1", "hcp-node-admin describe worker-1"},
		"upgrade":              {"upgrade workers", "hcp-node-admin upgrade workers --start"},
		"remove":               {"remove worker-1", "oc --kubeconfig hosted.kubeconfig adm drain worker-1"},
		"found":                {"found worker-9", "worker-9 was not lost"},
		"token revoke":         {"token revoke worker-1", "hcp-node-admin remove worker-1"},
		"enroll":               {"enroll workers worker-2=192.0.2.2", "hcp-node-admin nodes"},
		"user-data":            {"user-data workers", "oc --kubeconfig FILE -n clusters-hosted get pods,services "},
		"kubeconfig":           {"kubeconfig", ""},
		"controller install":   {"controller install --image a/b:c --wait=false", ""},
		"controller uninstall": {"controller uninstall", "hcp-node-admin controller uninstall hosted --crd"},
		"controller status":    {"controller status", "hcp-node-admin controller install"},
		"site apply":           {"site apply -f site.yaml", ""},
	}
	for _, command := range cli.AvailableCommands(newRootCommand(newPrinter(cli.Streams{}))) {
		if command.Flags().Lookup("context") == nil || command.Name() == "run" {
			continue
		}
		name := strings.TrimPrefix(command.CommandPath(), programName+" ")
		line, isKnown := lines[name]
		if !isKnown {
			t.Errorf("%s has no command line in this test", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			o := startOneKubeconfig(t)
			writeTestFile(t, ".", "site.yaml", "apiVersion: hcp-node-agent.io/v1alpha1\nkind: SiteConfig\n")
			run := func(line string) clitest.Result {
				args := append(strings.Fields(line), "-n", "clusters", "--hosted-cluster", "hosted", "--kubeconfig", o.file)
				return runCommandLine(t, args...)
			}
			if name == "controller uninstall" {
				run(lines["controller install"][0])
			}
			got := run(line[0])
			isPrinted := false
			for text := range strings.Lines(got.Out + got.Err) {
				text = strings.ReplaceAll(strings.TrimSpace(text), o.file, "FILE")
				isPrinted = isPrinted || strings.HasPrefix(text, line[1])
				isOwn := strings.HasPrefix(text, "hcp-node-admin ") && !strings.HasPrefix(text, programName+" "+name+": ")
				switch {
				case isOwn && !strings.Contains(text, " --namespace clusters --hosted-cluster hosted --kubeconfig FILE") &&
					!ofController.MatchString(text),
					strings.HasPrefix(text, "oc ") && !strings.Contains(text, " --kubeconfig FILE ") &&
						!strings.Contains(text, " --kubeconfig hosted.kubeconfig "):
					t.Errorf("%q is for another cluster", text)
				}
			}
			if !isPrinted {
				t.Errorf("%+v, want %q", got, line[1])
			}
		})
	}
}

// The kubeconfig of a management cluster alone selects no hosted cluster.
func TestManagementClusterIsNoHostedCluster(t *testing.T) {
	o := startOneKubeconfig(t)
	for _, line := range []string{
		"nodes", "describe worker-1", "upgrade workers", "approve worker-1", "remove worker-1", "token revoke worker-1",
	} {
		args := append(strings.Fields(line), "--kubeconfig", o.file)
		got := runCommandLine(t, args...)
		command := "hcp-node-admin " + strings.Join(args, " ") + " --namespace clusters --hosted-cluster hosted"
		if got.Code != report.Refused || !strings.Contains(got.Err, "; its HostedClusters: clusters/hosted\n") ||
			!strings.Contains(got.Err, "\n"+command+"\n") {
			t.Errorf("%s: %+v, want %s", line, got, command)
		}
		if again := runCommandLine(t, strings.Fields(command)[1:]...); again.Code == report.Usage {
			t.Errorf("%s: %+v", command, again)
		}
	}
	o.createHostedCluster(t, "other")
	got := runCommandLine(t, "nodes", "--kubeconfig", o.file)
	if !strings.Contains(got.Err, ": clusters/hosted; clusters/other\n") ||
		!strings.Contains(got.Err, " --namespace NAMESPACE --hosted-cluster NAME\n") {
		t.Errorf("%+v", got)
	}
}

// Without a name, only the single HostedCluster of a namespace is used.
func TestHostedClusterOfANamespace(t *testing.T) {
	o := startOneKubeconfig(t)
	nodes := func(args ...string) string {
		got := runCommandLine(t, append([]string{"nodes", "--kubeconfig", o.file}, args...)...)
		return got.Out + got.Err
	}
	for _, args := range [][]string{
		{"-n", "clusters"}, {"-n", "clusters", "--hosted-cluster", "hosted"},
	} {
		if got := nodes(args...); !strings.Contains(got, "worker-1") {
			t.Errorf("%q: %s", args, got)
		}
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"empty namespace": {[]string{"-n", "other"}, "namespace other has no HostedCluster"},
		"namespace of the context": {
			[]string{"--hosted-cluster", "hosted"}, "HostedCluster hosted does not exist: namespace default has no HostedClusters",
		},
		"another name": {
			[]string{"-n", "clusters", "--hosted-cluster", "hostde"},
			"HostedCluster hostde does not exist in namespace clusters, which has: hosted; did you mean hosted?",
		},
	} {
		if got := nodes(test.args...); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %q", name, got, test.want)
		}
	}
	o.createHostedCluster(t, "other")
	want := "namespace clusters has several HostedClusters; select one with --hosted-cluster: hosted, other\n"
	if got := nodes("-n", "clusters"); !strings.Contains(got, want) {
		t.Errorf("%s, want %q", got, want)
	}
}

// The kubeconfig is printed as it is; one that runs a command is printed, and not used.
func TestKubeconfigOfTheHostedCluster(t *testing.T) {
	o := startOneKubeconfig(t)
	for _, args := range [][]string{{"-n", "clusters"}, {"hosted", "-n", "clusters"}} {
		got := runCommandLine(t, append([]string{"kubeconfig", "--kubeconfig", o.file}, args...)...)
		if got.Code != report.Success || got.Out != string(o.hosted.Kubeconfig(t)) || got.Err != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	got := runCommandLine(t, "kubeconfig", "hosted", "-n", "clusters", "--hosted-cluster", "other", "--kubeconfig", o.file)
	if got.Code != report.Usage || !strings.Contains(got.Err, "HOSTEDCLUSTER hosted differs from --hosted-cluster other") {
		t.Errorf("%+v", got)
	}
	runs := strings.Replace(string(o.hosted.Kubeconfig(t)), "token: administrator",
		"exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [pwned], interactiveMode: Never}", 1)
	o.management.Set(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "admin-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": []byte(runs)},
	})
	for _, line := range []string{
		"nodes", "enroll workers worker-2=192.0.2.2", "controller install hosted --image a/b:c --wait=false",
	} {
		got := runCommandLine(t, append(strings.Fields(line), "-n", "clusters", "--kubeconfig", o.file)...)
		if got.Code != report.Usage || !strings.Contains(got.Err, "the kubeconfig runs a command to obtain its credential") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
