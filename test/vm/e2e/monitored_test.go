// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const metricsFile = "/run/hcp-node-agent/metrics/hcp-node-agent.prom"

// joinWithToken joins with a join token and without manual approval: the controller accepts the node
// because of its NodeEnrollment. The service then monitors the node, and repairs it.
func joinWithToken(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, "mkdir -p /etc/hcp-node-agent && printf 'apiVersion: "+report.APIVersion+
		`\nkind: JoinConfig\nrepair: true\n' >/etc/hcp-node-agent/config.yaml
		mkdir -p /etc/systemd/system/hcp-node-agent.service.d
		printf '[Service]\nEnvironment=OPTIONS=--interval-divisor=6\n' \
			>/etc/systemd/system/hcp-node-agent.service.d/50-intervals.conf && systemctl daemon-reload`)
	createJoinToken(ctx, t, uplinkAddress(ctx, t))
	runAgent(ctx, t, report.Success, joinByUserData+" --join-token /root/worker-0.token")
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if node.Labels["example.com/rack"] != "7" || node.Labels["hypershift.openshift.io/nodePool"] == "" {
		t.Errorf("the Node has the labels %v", node.Labels)
	}
	if left := mustOutput(ctx, t, "ls /var/lib/hcp-node-agent"); strings.Contains(left, "token") {
		t.Errorf("the join token remains: %s", left)
	}
	awaitHealthy(ctx, t)
}

// checkResources checks that the service uses little memory.
func checkResources(ctx context.Context, t *testing.T) {
	t.Helper()
	out := mustOutput(ctx, t, `
		grep -E '^(VmRSS|RssAnon|RssFile)' /proc/$(systemctl show -P MainPID hcp-node-agent)/status
		systemctl show -p CPUUsageNSec -p MemoryCurrent -p ActiveEnterTimestamp hcp-node-agent; date; cat `+metricsFile+`
		journalctl -b -u hcp-node-agent -o cat`)
	t.Logf("the service after some minutes:\n%s", out)
	if own := numberAfter(t, out, "RssAnon:"); own > 25*1024 {
		t.Errorf("the service uses %d kB of anonymous memory", own)
	}
}

// leaveWithoutTheCluster leaves a cluster that the host cannot reach. The service ends, and removes its
// metrics.
func leaveWithoutTheCluster(ctx context.Context, t *testing.T) {
	t.Helper()
	server := mustOutput(ctx, t,
		`host=$(sed -n 's,.*server: https://\([^:]*\).*,\1,p' /var/lib/kubelet/kubeconfig) &&
			getent ahostsv4 "$host" | head -n 1 | cut -d ' ' -f 1`)
	mustOutput(ctx, t, "ip route add unreachable "+server)
	left := runAgent(ctx, t, report.Success, "leave")
	mustOutput(ctx, t, "ip route del unreachable "+server)
	checkContains(t, left.Stdout, "the node is not drained", "the leave continues without the cluster",
		"oc delete node "+testenv.NodeName)
	mustOutput(ctx, t, "test ! -e "+metricsFile)
	state := mustOutput(ctx, t,
		"systemctl show -P Result hcp-node-agent; systemctl show -P ActiveState hcp-node-agent")
	if strings.Join(strings.Fields(state), " ") != "success inactive" {
		t.Errorf("after leave the service is %s", state)
	}
}

// createJoinToken creates a join token and copies it to the machine. The controller runs with the NodeEnrollment
// until the test ends.
func createJoinToken(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	dir := enrollMachine(ctx, t, address, "--label", "example.com/rack=7")
	token, _ := enrollment.Paths(dir, testenv.NodeName)
	content, err := os.ReadFile(token)
	must(t, err)
	must(t, environment.Machine.Put(ctx, "/root/worker-0.token", bytes.NewReader(content), 0o600))
}

// enrollMachine enrolls the machine with flags of enroll, and starts the controller. It returns the directory with the
// files of the machine.
func enrollMachine(ctx context.Context, t *testing.T, address string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, adminCommand(ctx, t, append([]string{
		"enroll", "--offline", "workers", testenv.NodeName + "=" + address, "--hosted-kubeconfig",
		environment.ControlPlane.Kubeconfig, "--output-dir", dir,
	}, flags...)...).Run())
	_, record := enrollment.Paths(dir, testenv.NodeName)
	startController(ctx, t, record)
	return dir
}

// adminCommand returns a command of hcp-node-admin.
func adminCommand(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(ctx, "../../../bin/hcp-node-admin", args...)
	command.Stdout, command.Stderr = t.Output(), t.Output()
	return command
}

// grantRights creates the objects of deploy/hosted-base, once for all tests.
var grantRights = sync.OnceValue(func() error {
	for _, file := range []string{"namespace", "crd", "rbac"} {
		err := rights.Grant(context.Background(), environment.Client, "hosted-base/"+file+".yaml")
		if err != nil {
			return err
		}
	}
	return nil
})

// startController creates the NodeEnrollment of a manifest, and approves the CSRs of its node until the test ends.
func startController(ctx context.Context, t *testing.T, manifest string) {
	t.Helper()
	must(t, grantRights())
	content, err := os.ReadFile(manifest)
	must(t, err)
	body, err := yaml.YAMLToJSON(content)
	must(t, err)
	client := environment.Client.Discovery().RESTClient()
	must(t, client.Post().AbsPath(enrollmentsPath).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).
		Error())
	runController(ctx, t)
}

// enrollmentsPath is the path of the NodeEnrollments in the API.
const enrollmentsPath = "/apis/hcp-node-agent.io/v1alpha1/nodeenrollments"

// runController runs the controller until the end of the test, and then deletes the NodeEnrollment of the machine.
func runController(ctx context.Context, t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	run := adminCommand(ctx, t, "controller", "run", "--kubeconfig", environment.ControlPlane.Kubeconfig)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	must(t, run.Start())
	t.Cleanup(func() {
		stop()
		_ = run.Wait() // it was interrupted
		client := environment.Client.Discovery().RESTClient()
		must(t, client.Delete().AbsPath(enrollmentsPath, testenv.NodeName).Do(context.Background()).Error())
	})
}

// await waits until a command succeeds in the machine. The service checks the node once a minute.
func await(ctx context.Context, t *testing.T, command string) {
	t.Helper()
	must(t, environment.Machine.Await(ctx, command))
}

// checkEvent checks that the Node has an Event with this type, reason and text.
func checkEvent(ctx context.Context, t *testing.T, kind, reason, text string) {
	t.Helper()
	// The Event follows the journal entry.
	what := fmt.Sprintf("waiting for a %s Event with reason %s that contains %q", kind, reason, text)
	waittest.Until(t, what, func() (any, bool) {
		list, err := environment.Client.CoreV1().Events("default").List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.uid=worker-0,source=hcp-node-agent,reason=" + reason,
		})
		must(t, err)
		for _, e := range list.Items {
			if e.Type == kind && strings.Contains(e.Message, text) {
				t.Logf("%s %s: %s", e.Type, e.Reason, e.Message)
				return e, true
			}
		}
		return list.Items, false
	})
}

func numberAfter(t *testing.T, text, after string) int {
	t.Helper()
	_, rest, _ := strings.Cut(text, after)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("no %s in %s", after, text)
	}
	n, err := strconv.Atoi(fields[0])
	must(t, err)
	return n
}
