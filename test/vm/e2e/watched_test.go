//go:build vm

package e2e

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// TestWatched lets the service watch a node after its join: it says what comes
// and what goes, to systemd, to the journal, in an Event and in the metrics, is
// small, and ends with leave.
func TestWatched(t *testing.T) {
	ctx := fresh(t)
	agent(ctx, t, report.Done, "join --user-data /root/stub.ign --approve-with /root/approver.kubeconfig")
	await(ctx, t, "systemctl is-active hcp-node-agent && systemctl show -P StatusText hcp-node-agent | grep -qx 'worker-0 is Ready and schedulable'")

	taint(ctx, t, `[{"key":"team","value":"blue","effect":"NoSchedule"}]`)
	await(ctx, t, "systemctl show -P StatusText hcp-node-agent | grep -q 'taint team=blue:NoSchedule'")
	await(ctx, t, `grep -qx 'hcp_node_agent_findings{severity="problem"} 1' /run/hcp-node-agent/metrics.prom`)
	event(ctx, t, corev1.EventTypeWarning, "taint team=blue:NoSchedule")
	taint(ctx, t, `[]`)
	await(ctx, t, "journalctl -u hcp-node-agent -o cat | grep -q 'no longer: .*taint team=blue:NoSchedule'")
	event(ctx, t, corev1.EventTypeNormal, "no longer: ")
	await(ctx, t, `grep -qx 'hcp_node_agent_findings{severity="problem"} 0' /run/hcp-node-agent/metrics.prom`)

	out := mustOutput(ctx, t, `
		grep -E '^(VmRSS|RssAnon|RssFile)' /proc/$(systemctl show -P MainPID hcp-node-agent)/status
		systemctl show -p CPUUsageNSec -p MemoryCurrent -p ActiveEnterTimestamp hcp-node-agent; date; cat /run/hcp-node-agent/metrics.prom
		journalctl -u hcp-node-agent -o cat`)
	t.Logf("the service after some minutes:\n%s", out)
	if own := number(t, out, "RssAnon:"); own > 25*1024 {
		t.Errorf("it has %d kB of its own", own)
	}

	agent(ctx, t, report.Done, "leave --no-drain")
	if state := mustOutput(ctx, t, "systemctl show -P ActiveState -P Result hcp-node-agent"); strings.Join(strings.Fields(state), " ") != "inactive success" {
		t.Errorf("after leave the service is %s", state)
	}
}

func taint(ctx context.Context, t *testing.T, taints string) {
	t.Helper()
	_, err := stage.Client.CoreV1().Nodes().Patch(ctx, "worker-0", types.MergePatchType, []byte(`{"spec":{"taints":`+taints+`}}`), metav1.PatchOptions{})
	must(t, err)
}

// await waits until a command succeeds in the machine; the service looks once a
// minute.
func await(ctx context.Context, t *testing.T, command string) {
	t.Helper()
	result, err := stage.Machine.Run(ctx, "for i in $(seq 240); do ( "+command+" ) >/dev/null && exit 0; sleep 1; done; exit 1")
	must(t, err)
	if result.ExitCode != 0 {
		t.Fatalf("it did not come to this: %s", command)
	}
}

// event checks that "oc describe node" shows a text.
func event(ctx context.Context, t *testing.T, kind, text string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // it is written after the journal's line
	for {
		list, err := stage.Client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=worker-0,source=hcp-node-agent"})
		must(t, err)
		for _, e := range list.Items {
			if e.Type == kind && strings.Contains(e.Message, text) {
				t.Logf("%s %s: %s", e.Type, e.Reason, e.Message)
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s Event says %q; there are %d of the agent", kind, text, len(list.Items))
		}
		time.Sleep(time.Second)
	}
}

func number(t *testing.T, text, after string) int {
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
