// SPDX-License-Identifier: Apache-2.0

//go:build vm

package fleet

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/hypershift"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const (
	kubeletConfig = "/etc/kubernetes/kubelet.conf"
	ipUnit        = "apiserver-ip.service"
	updated       = "nodes:   3: 3 updated, 0 in progress, 0 waiting, 0 failed; 0 unavailable\n"
)

// TestRollout installs the controller, enrolls three machines, which join with nothing but their join tokens, and
// upgrades them by a change of the NodePool: one after the other, up to the first failure, and back, and
// while the links of two machines are cut.
func TestRollout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	t.Cleanup(func() { saveJournals(t) })
	m := startManagement(ctx, t)
	admin(ctx, t, "controller", "install", hypershift.HostedCluster, "-n", hypershift.Namespace, "--publish",
		"--image", "registry.example.com/hcp-node-admin:0.1.0", "--wait=false", "--kubeconfig", "management.kubeconfig")
	m.startController(ctx, t)
	joinAll(ctx, t)
	admin(ctx, t, "nodes")

	payload, err := environment.Payload()
	must(t, err)
	must(t, payload.SetOSImage(strings.TrimSpace(output(ctx, t, machines[firstNode],
		`grep -o '"image": *"[^"]*"' /var/lib/hcp-node-agent/software.json | cut -d'"' -f4`))))
	content, err := payload.File(kubeletConfig)
	must(t, err)
	payload.SetFile(kubeletConfig, strings.Replace(content, "containerLogMaxSize: 50Mi", "containerLogMaxSize: 40Mi", 1))
	m.setPayload(ctx, t, payload, "22")
	admin(ctx, t, "upgrade", hypershift.NodePool, "--start")
	watch := startObserver(ctx, t)
	awaitOutput(ctx, t, waittest.Timeout, []string{"nodes", "--output", "wide"}, "Upgrading")
	kubectl(ctx, t, "wait", "--for=condition=Completed", "--timeout=20m", "noderollout/"+hypershift.NodePool)
	awaitOutput(ctx, t, waittest.Timeout, []string{"upgrade", hypershift.NodePool}, "configuration 22\n", updated)
	watch.check(t)
	admin(ctx, t, "nodes", "--output", "wide")
	for _, machine := range machines {
		output(ctx, t, machine, "grep 'containerLogMaxSize: 40Mi' "+kubeletConfig)
	}

	broken, err := environment.Payload()
	must(t, err)
	broken.EditUnit(ipUnit, "ExecStart=/usr/local/bin/setup-apiserver-ip.sh", "ExecStart=/bin/false")
	m.setPayload(ctx, t, broken, "33")
	awaitOutput(ctx, t, 20*time.Minute, []string{"upgrade", hypershift.NodePool}, "configuration 33\n",
		"nodes:   3: 0 updated, 0 in progress, 2 waiting, 1 failed; 0 unavailable\n",
		"waiting: failed upgrades: 1, first that of "+firstNode,
		firstNode+" failed: the upgrade was rolled back, because it failed: ", ipUnit)
	awaitOutput(ctx, t, waittest.Timeout, []string{"nodes"}, "Failed", "the upgrade failed: ")
	admin(ctx, t, "describe", firstNode)
	output(ctx, t, machines[secondNode], "! journalctl -u hcp-node-agent -o cat | grep 'configuration 33'")

	m.setPayload(ctx, t, payload, "22")
	awaitOutput(ctx, t, waittest.Timeout, []string{"upgrade", hypershift.NodePool}, "configuration 22\n", updated)
	watch.check(t)

	payload.SetFile(kubeletConfig, strings.Replace(content, "containerLogMaxSize: 50Mi", "containerLogMaxSize: 30Mi", 1))
	m.setPayload(ctx, t, payload, "44")
	cutTwo(ctx, t)
	awaitOutput(ctx, t, 20*time.Minute, []string{"upgrade", hypershift.NodePool}, "configuration 44\n", updated)
	watch.checkPermitted(t)
}

// cutTwo cuts the links of two machines while the first one is upgraded, until the controller reports that they are
// unavailable. They get no permission meanwhile.
func cutTwo(ctx context.Context, t *testing.T) {
	t.Helper()
	awaitOutput(ctx, t, waittest.Timeout, []string{"nodes", "--output", "wide"}, "Upgrading")
	cut := []string{secondNode, thirdNode}
	for _, name := range cut {
		must(t, machines[name].CutLink(ctx))
	}
	awaitOutput(ctx, t, waittest.Timeout, []string{"upgrade", hypershift.NodePool},
		"of the nodes are unavailable, at most 1 may be")
	for _, name := range cut {
		node, err := environment.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		if config := node.Annotations[v1alpha1.AnnotationDesiredConfig]; config != "" {
			t.Errorf("%s, which is cut off, may upgrade to configuration %s", name, config)
		}
	}
	for _, name := range cut {
		must(t, machines[name].RestoreLink(ctx))
	}
}

// joinAll enrolls the machines, and joins them at the same time. Their only input is the join token.
func joinAll(ctx context.Context, t *testing.T) {
	t.Helper()
	args := []string{
		"enroll", hypershift.NodePool, "-n", hypershift.Namespace, "--kubeconfig", "management.kubeconfig",
	}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		address, err := machines[name].Address(ctx)
		must(t, err)
		args = append(args, name+"="+address.String())
	}
	admin(ctx, t, args...)
	var joining sync.WaitGroup
	for name, machine := range machines {
		token, err := os.ReadFile(filepath.Join(directory, "tokens", name+".token"))
		must(t, err)
		must(t, machine.Put(ctx, "/root/node.token", bytes.NewReader(token), 0o600))
		joining.Go(func() {
			result, err := machine.Run(ctx, "hcp-node-agent join --network-timeout "+testenv.NetworkTimeout+
				" --join-token /root/node.token")
			t.Logf("%s:\n%s%s", name, result.Stdout, result.Stderr)
			if err != nil || result.ExitCode != 0 {
				t.Errorf("the join of %s: exit code %d, %v", name, result.ExitCode, err)
			}
		})
	}
	joining.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func output(ctx context.Context, t *testing.T, machine *vm.Machine, command string) string {
	t.Helper()
	out, err := machine.Output(ctx, command)
	must(t, err)
	return out
}

// observer records how many nodes were unavailable or had a slot at a time, and how many because of the rollout.
type observer struct {
	mutex        sync.Mutex
	maxBusy      int
	maxPermitted int
	watching     int
}

// startObserver observes the Nodes until the test ends.
func startObserver(ctx context.Context, t *testing.T) *observer {
	t.Helper()
	o := &observer{}
	events, err := environment.Client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	must(t, err)
	t.Cleanup(events.Stop)
	nodes, permitted := map[string]bool{}, sets.New[string]()
	go func() {
		for event := range events.ResultChan() {
			node, isNode := event.Object.(*corev1.Node)
			if !isNode {
				continue
			}
			o.mutex.Lock()
			permitted.Delete(node.Name)
			if node.Annotations[v1alpha1.AnnotationDesiredConfig] != "" ||
				node.Annotations[v1alpha1.AnnotationState] == string(v1alpha1.AgentUpgrading) {
				permitted.Insert(node.Name)
			}
			nodes[node.Name] = !kube.IsReady(node) || node.Spec.Unschedulable || permitted.Has(node.Name)
			busy := 0
			for _, isBusy := range nodes {
				if isBusy {
					busy++
				}
			}
			o.maxBusy, o.watching = max(o.maxBusy, busy), len(nodes)
			o.maxPermitted = max(o.maxPermitted, permitted.Len())
			o.mutex.Unlock()
		}
	}()
	return o
}

// check checks that one node was upgraded at a time.
func (o *observer) check(t *testing.T) {
	t.Helper()
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.maxBusy != 1 || o.watching != len(machines) {
		t.Errorf("%d of %d nodes were unavailable or had a slot at a time, want 1", o.maxBusy, o.watching)
	}
}

// checkPermitted checks that one node had a permission, or used it, at a time, whatever was unavailable.
func (o *observer) checkPermitted(t *testing.T) {
	t.Helper()
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.maxPermitted != 1 {
		t.Errorf("%d nodes had a slot at a time, want 1", o.maxPermitted)
	}
}

// saveJournals saves the journals of the machines if the test failed.
func saveJournals(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout)
	defer cancel()
	for name, machine := range machines {
		journal, err := machine.Output(ctx, "journalctl -b --no-pager -o short-monotonic")
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name+".journal"), []byte(journal), 0o600)
		}
		if err != nil {
			t.Logf("saving the journal of %s: %v", name, err)
		}
	}
}
