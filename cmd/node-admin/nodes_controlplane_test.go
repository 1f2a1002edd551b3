// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// The tests share a cluster, run in random order, and create their own objects.
func TestControlPlaneFleet(t *testing.T) {
	h := startHostedCluster(t)
	h.installAPI(t)
	for name, test := range map[string]func(*testing.T){
		"describe": h.testDescribe, "upgrade": h.testUpgrade, "approve": h.testApprove, "remove": h.testRemove,
		"lost":     h.testLost,
		"failures": h.testFailures, "completion": h.testCompletion, "pages": h.testPages,
	} {
		t.Run(name, test)
	}
}

func TestControlPlaneWithoutAPI(t *testing.T) {
	h := startHostedCluster(t)
	t.Run("fleet", h.testWithoutAPI)
	t.Run("approve", h.testApproveWithoutAPI)
}

// fleetCommands are command lines for a node.
func fleetCommands(node string) [][]string {
	return [][]string{
		{"nodes"}, {"nodes", node}, {"nodes", "--watch"}, {"describe", node}, {"upgrade", "workers"}, {"remove", node},
	}
}

func (h *hostedCluster) testWithoutAPI(t *testing.T) {
	for _, args := range fleetCommands("worker-1") {
		got := h.exec(t, args...)
		if got.Code != report.Refused ||
			!strings.Contains(got.Err, ".hcp-node-agent.io: the API of NodeEnrollments is not installed") ||
			!strings.Contains(got.Err, "\noc apply -k deploy/hosted-base\n") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// testFailures checks the failures that all commands have.
func (h *hostedCluster) testFailures(t *testing.T) {
	for _, args := range fleetCommands("worker-1") {
		forbidden := runCommandLine(t, append(args, "--kubeconfig", h.as(t, "without-rights"))...)
		if forbidden.Code != report.CredentialRefused || !strings.Contains(forbidden.Err, ": no permission: ") ||
			!strings.Contains(forbidden.Err, " create clusterrole hcp-node-") {
			t.Errorf("%q, forbidden: %+v", args, forbidden)
		}
		unreachable := runCommandLine(t, append(args, "--kubeconfig", h.unreachable(t))...)
		if unreachable.Code != report.Failed || !strings.Contains(unreachable.Err, "127.0.0.1:1 refused the connection") {
			t.Errorf("%q, unreachable: %+v", args, unreachable)
		}
	}
}

// testCompletion checks the names that are completed, without those that the command line already has.
func (h *hostedCluster) testCompletion(t *testing.T) {
	h.enroll(t, "completion-1", func(object *v1alpha1.NodeEnrollment) { object.Spec.NodePool = "completion-pool" })
	h.enroll(t, "completion-2", nil)
	pending := csrtest.ServingRequest{Node: "completed", Addresses: []string{"192.0.2.50"}}.Submit(t)
	const end = ":4\n"
	for line, want := range map[string][]string{
		"nodes ":                 {"completion-1\n", "completion-2\n"},
		"describe ":              {"completion-1\n", "completion-2\n"},
		"remove completion-1 ":   {"completion-2\n"},
		"nodes --nodepool ":      {"completion-pool\nworkers\n" + end},
		"nodes --phase Re":       {"Ready\n"},
		"approve ":               {pending + "\n", "completed\n"},
		"describe completion-1 ": {end},
		"approve completion-1 ":  {end},
	} {
		words := strings.Split(line, " ")
		args := append([]string{"__complete", words[0], "--kubeconfig", kubetest.Plane.Kubeconfig}, words[1:]...)
		got := runCommandLine(t, args...).Out
		for _, one := range want {
			if !strings.Contains("\n"+got, "\n"+one) ||
				line == "remove completion-1 " && strings.Contains(got, "completion-1\n") {
				t.Errorf("%q is completed with %q, want %q", line, got, one)
			}
		}
		if last := words[len(words)-1]; last == "" {
			args[3] = h.unreachable(t)
			if got := runCommandLine(t, args...).Out; got != end && got != ":6\n" {
				t.Errorf("%q is completed with %q, without a cluster", line, got)
			}
		}
	}
}

// testPages lists more NodeEnrollments than one response contains, sorted by name.
func (h *hostedCluster) testPages(t *testing.T) {
	want := ""
	for n := range 120 {
		name := fmt.Sprintf("page-%03d", n)
		h.enroll(t, name, func(object *v1alpha1.NodeEnrollment) { object.Labels = map[string]string{"test": "pages"} })
		want += "nodeenrollment.hcp-node-agent.io/" + name + "\n"
	}
	if got := h.exec(t, "nodes", "-l", "test=pages", "-o", "name"); got.Out != want || got.Code != report.Success {
		t.Errorf("%d lines: %+v", strings.Count(got.Out, "\n"), got)
	}
}

func at(after time.Duration) *metav1.Time {
	at := metav1.NewTime(time.Now().Add(after))
	return &at
}

func TestControlPlaneNodes(t *testing.T) {
	h := startHostedCluster(t)
	h.installAPI(t)
	got := h.exec(t, "nodes")
	if got.Code != report.Success || got.Out != "" || !strings.HasPrefix(got.Err, "no controller runs: its Lease ") ||
		!strings.HasSuffix(got.Err, "\nno NodeEnrollment was found\n") {
		t.Errorf("no NodeEnrollments: %+v", got)
	}
	h.holdLease(t)
	expires := at(87 * 24 * time.Hour)
	h.enroll(t, "worker-2", func(object *v1alpha1.NodeEnrollment) {
		object.Labels = map[string]string{"site": "a"}
		object.Spec.Addresses = []string{"192.0.2.2", "2001:db8::/64"}
		object.Status = v1alpha1.NodeEnrollmentStatus{
			Phase: v1alpha1.PhaseFailed, Reason: "kubelet \x1b[2Jis down: " + strings.Repeat("a", 60), Release: "4.20.3",
			ConfigHash: "844282c1", HostClass: "rhcos", MachineID: "0123456789abcdef0123456789abcdef",
			CertificateExpires: expires, LastReport: at(-15 * time.Minute),
		}
	})
	h.enroll(t, "worker-1", func(object *v1alpha1.NodeEnrollment) {
		object.Spec.NodePool = "gpu"
		object.Status.Phase = v1alpha1.PhasePending
	})
	csrtest.CreateNode(t, "worker-2")
	csrtest.CreateNode(t, "alone")
	h.checkTables(t, expires.UTC().Format(time.RFC3339))
	h.checkWait(t)
	h.checkObjects(t)
	h.checkWatch(t)

	h.grant(t, "lister", nodesPermissions())
	h.await(t, "lister", "nodes", "worker-1")
	h.awaitOutput(t, "lister", "1 Failed, 1 Pending\n1 Node has no NodeEnrollment: alone\n", "nodes")
	h.grant(t, "enrollments-only", nodesPermissions()[:1])
	if got := h.await(t, "enrollments-only", "nodes"); got.Err != "1 Failed, 1 Pending\n" {
		t.Errorf("without the permission for Nodes: %+v", got)
	}
}

func (h *hostedCluster) checkTables(t *testing.T, expiry string) {
	t.Helper()
	cause := "kubelet ^[[2Jis down: " + strings.Repeat("a", 60)
	first := []string{"worker-1", "Pending", "gpu"}
	second := []string{"worker-2", "Failed", "4.20.3", "workers", expiry, "15m", cause}
	head := []string{"NAME", "PHASE", "RELEASE", "NODEPOOL", "CERTIFICATE", "REPORTED", "REASON"}
	for line, want := range map[string][][]string{
		"":                                 {head, first, second},
		"worker-2":                         {head, second},
		"worker-2 worker-1":                {head, first, second},
		"-l site=a":                        {head, second},
		"--phase failed,Lost":              {head, second},
		"--nodepool gpu":                   {head, first},
		"--nodepool gpu --phase Ready":     nil,
		"worker-1 --nodepool workers":      nil,
		"-o name":                          {{"nodeenrollment.hcp-node-agent.io/worker-1"}, {"nodeenrollment.hcp-node-agent.io/worker-2"}},
		"worker-1 worker-1 -o name":        {{"nodeenrollment.hcp-node-agent.io/worker-1"}},
		"-l site=b -o name":                nil,
		"--phase Pending,Failed -l site=a": {head, second},
	} {
		got := h.exec(t, append([]string{"nodes"}, strings.Fields(line)...)...)
		if diff := cmp.Diff(want, table(got.Out)); diff != "" || got.Code != report.Success {
			t.Errorf("nodes %s: code %d, %s (-want +got):\n%s", line, got.Code, got.Err, diff)
		}
	}
	wide := h.exec(t, "nodes", "worker-2", "-o", "wide")
	if want := []string{
		"844282c1", "rhcos", `["192.0.2.2","2001:db8::/64"]`, "0123456789abcdef0123456789abcdef",
	}; !strings.Contains(strings.Join(strings.Fields(wide.Out), " "), strings.Join(want, " ")) {
		t.Errorf("%+v", wide)
	}
	missing := h.exec(t, "nodes", "worker-2", "worker-9")
	if len(table(missing.Out)) != 2 || missing.Code != report.Usage ||
		!strings.Contains(missing.Err, "no NodeEnrollment exists for worker-9") {
		t.Errorf("a name that does not exist: %+v", missing)
	}
	// The table is that of oc get.
	if diff := cmp.Diff(table(kubectl(t, "get", "hne")), table(h.exec(t, "nodes").Out)); diff != "" {
		t.Errorf("nodes differs from kubectl get (-kubectl +nodes):\n%s", diff)
	}
}

// table returns the cells of a table. The cells of a column are separated by at least two spaces.
func table(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		rows = append(rows, regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1))
	}
	return rows
}

func (h *hostedCluster) checkObjects(t *testing.T) {
	t.Helper()
	list := clitest.DecodeDocument(t, h.exec(t, "nodes", "-o", "json").Out)
	if items, _ := list["items"].([]any); list["kind"] != "List" || len(items) != 2 {
		t.Errorf("the list is %v", list)
	}
	object := clitest.DecodeDocument(t, h.exec(t, "nodes", "worker-1", "-o", "json").Out)
	metadata, _ := object["metadata"].(map[string]any)
	if object["kind"] != "NodeEnrollment" || metadata["name"] != "worker-1" || metadata["managedFields"] != nil {
		t.Errorf("the object is %v", object)
	}
	empty := clitest.DecodeDocument(t, h.exec(t, "nodes", "-l", "site=b", "-o", "json").Out)
	if items, isList := empty["items"].([]any); !isList || len(items) != 0 {
		t.Errorf("an empty list is %v", empty)
	}
	got := h.exec(t, "nodes", "-o", "yaml").Out
	if !strings.Contains(got, "\n- apiVersion: hcp-node-agent.io/v1alpha1\n") {
		t.Errorf("YAML: %s", got)
	}
	failure := clitest.DecodeDocument(t, h.exec(t, "nodes", "worker-9", "-o", "json").Out)
	if failure["kind"] != "Failure" || failure["exitCode"] != float64(report.Usage) {
		t.Errorf("the failure is %v", failure)
	}
}

func (h *hostedCluster) checkWait(t *testing.T) {
	t.Helper()
	got := h.exec(t, "nodes", "-l", "site=a", "--wait", "failed")
	if got.Code != report.Success || len(table(got.Out)) != 2 || got.Err != "1 Failed\n" {
		t.Errorf("all nodes have the phase: %+v", got)
	}
	got = h.exec(t, "nodes", "--wait", "Failed", "--timeout", "1ms")
	if got.Code != report.Failed || !strings.Contains(got.Err, "timed out waiting") {
		t.Errorf("the timeout: %+v", got)
	}
	got = h.exec(t, "nodes", "-l", "site=b", "--wait", "Ready")
	if got.Code != report.Usage || !strings.Contains(got.Err, "no NodeEnrollment was found") {
		t.Errorf("no nodes: %+v", got)
	}
}

func (h *hostedCluster) checkWatch(t *testing.T) {
	t.Helper()
	out := startCommand(t, "nodes", "--watch", "--kubeconfig", kubetest.Plane.Kubeconfig)
	out.await(t, "worker-2  ")
	for n := range 3 {
		reason := fmt.Sprintf("change-%d", n)
		h.patchStatus(t, "worker-1", v1alpha1.NodeEnrollmentStatus{Phase: v1alpha1.PhaseEnrolled, Reason: reason})
		out.await(t, reason)
	}
	out.stop()
	if code := <-out.done; code != report.Interrupted {
		t.Errorf("exit code %d", code)
	}
	if strings.Count(out.text(), "NAME") != 1 || strings.Count(out.text(), "worker-2") != 1 {
		t.Errorf("printed:\n%s", out.text())
	}
	column := strings.Index(out.text(), "REASON") + len("Enrolled") - len("Pending") // the phase widens its column
	for line := range strings.Lines(out.text()) {
		if at := strings.Index(line, "change-"); at >= 0 && at != column {
			t.Errorf("a later line is not aligned:\n%s", out.text())
		}
	}
	h.patchStatus(t, "worker-1", v1alpha1.NodeEnrollmentStatus{Phase: v1alpha1.PhasePending})
}

// holdLease makes the Lease that of a controller that works.
func (h *hostedCluster) holdLease(t *testing.T) {
	t.Helper()
	h.createNamespace(t)
	holder, renewed := "replica", metav1.NewMicroTime(time.Now().Add(24*time.Hour)) // longer than the test
	_, err := h.admin.CoordinationV1().Leases(v1alpha1.Namespace).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ControllerName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
