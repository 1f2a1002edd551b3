// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

const (
	// bulkWorkers is the number of objects that the administrator creates at a time.
	bulkWorkers = 8
	// maxJoining is the number of nodes that join at a time: more connections at once overload the API server of this
	// machine.
	maxJoining = 1000
)

// measure runs the enrollment and the upgrade of a fleet against a control plane of its own. The violations are those
// of the rules; an error prevents the measurement.
func measure(
	ctx context.Context, s settings, count int, requests *requestCounter,
) (r result, violations []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	f, closing, err := openFleet(ctx, s, requests)
	defer func() { err = errors.Join(err, closing()) }()
	if err != nil {
		return r, nil, err
	}
	if err := f.addNodes(count); err != nil {
		return r, nil, err
	}
	for range replicaCount {
		if err := f.startReplica(ctx, s.program); err != nil {
			return r, nil, err
		}
	}
	if _, err := f.leader(ctx); err != nil {
		return r, nil, err
	}
	if err := f.publish(ctx, oldConfig); err != nil {
		return r, nil, err
	}
	r.nodes = count
	rollOut := func(ctx context.Context) error { return f.rollOut(ctx, killAt) }
	for _, phase := range []struct {
		run func(context.Context) error
		to  *phase
	}{{f.enroll, &r.enroll}, {f.reportAll, &r.reports}, {rollOut, &r.rollout}} {
		if err := f.measurePhase(ctx, phase.run, phase.to); err != nil {
			return r, nil, err
		}
	}
	r.hostile, r.peak = f.hostile.Len(), f.consumption().peak
	r.largest = f.observer.written()
	if r.check, err = f.measureChecks(ctx); err != nil {
		return r, nil, err
	}
	if err := f.stopReplicas(); err != nil {
		return r, nil, err
	}
	r.unavailable, violations = f.audit(maxUnavailable(count))
	return r, violations, nil
}

// measurePhase runs a phase and measures what it uses.
func (f *fleet) measurePhase(ctx context.Context, run func(context.Context) error, to *phase) error {
	before, agents, writes := f.consumption(), f.agents.traffic(f.requests), f.observer.written()
	begun := time.Now()
	if err := run(ctx); err != nil {
		return err
	}
	to.took = time.Since(begun)
	after := f.consumption()
	to.cpu, to.controller = after.cpu-before.cpu, after.minus(before.traffic)
	to.agents = f.agents.traffic(f.requests).minus(agents)
	to.writes = map[string]written{}
	for kind, now := range f.observer.written() {
		to.writes[kind] = written{now.count - writes[kind].count, now.bytes - writes[kind].bytes, now.largest}
	}
	return nil
}

// enroll creates the NodeEnrollments, joins the nodes, and waits until the controller reports them as Ready.
func (f *fleet) enroll(ctx context.Context) error {
	err := f.each(bulkWorkers, func(index int, _ *node) error { return f.objects.Create(ctx, f.records[index]) })
	if err != nil {
		return err
	}
	err = f.each(maxJoining, func(index int, n *node) error {
		other := f.nodes[(index+1)%len(f.nodes)]
		var attack error
		if index%hostileShare == 0 {
			attack = f.attackBefore(ctx, n, other)
		}
		err := f.join(ctx, n)
		if index%hostileShare == 0 && err == nil {
			attack = errors.Join(attack, f.attackAfter(ctx, n, other))
		}
		return errors.Join(err, attack)
	})
	if err != nil {
		return err
	}
	return f.observer.await(ctx, "all nodes are reported as Ready", func() bool {
		return f.all(func(n *node, status v1alpha1.NodeEnrollmentStatus) bool {
			return status.Phase == v1alpha1.PhaseReady && status.ConfigHash == n.config && status.ServingCSR != ""
		})
	})
}

// reportAll lets all agents report once, and waits until the controller has recorded that.
func (f *fleet) reportAll(ctx context.Context) error {
	if err := sleep(ctx, 2*time.Second); err != nil { // the time of a report has whole seconds
		return err
	}
	begun := time.Now()
	err := f.each(bulkWorkers, func(_ int, n *node) error { return n.report(ctx, v1alpha1.AgentHealthy, "") })
	if err != nil {
		return err
	}
	return f.observer.await(ctx, "all reports are recorded", func() bool {
		return f.all(func(_ *node, status v1alpha1.NodeEnrollmentStatus) bool {
			return status.LastReport != nil && status.LastReport.After(begun.Add(-time.Second))
		})
	})
}

// all reports whether a condition holds for all nodes.
func (f *fleet) all(holds func(*node, v1alpha1.NodeEnrollmentStatus) bool) bool {
	return !slices.ContainsFunc(f.nodes, func(n *node) bool { return !holds(n, f.observer.enrollments[n.name]) })
}

// rollOut upgrades all nodes. At each of the shares of upgraded nodes, it kills the leader and cuts a site off.
func (f *fleet) rollOut(ctx context.Context, killAt []float64) error {
	if err := f.objects.Create(ctx, newRollout()); err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- f.each(len(f.nodes), func(_ int, n *node) error { return f.serve(serving, n) })
	}()
	err := f.publish(ctx, newConfig)
	for _, share := range killAt {
		if err != nil {
			break
		}
		err = f.observer.await(ctx, "some nodes are upgraded", func() bool {
			status := f.observer.rollout
			return status.Config == newConfig && float64(status.Updated) >= share*float64(len(f.nodes))
		})
		if err == nil {
			err = errors.Join(f.killLeader(ctx, f.settings.program), f.cutOff(ctx))
		}
	}
	if err == nil {
		err = f.observer.await(ctx, "all nodes are upgraded", f.isRolledOut)
	}
	stop()
	return errors.Join(err, <-served)
}

// siteShare is the part of the nodes behind one link.
const siteShare = 3

// site returns the nodes behind the link that is cut.
func (f *fleet) site() []*node {
	return slices.DeleteFunc(slices.Clone(f.nodes[len(f.nodes)-len(f.nodes)/siteShare:]), func(n *node) bool {
		return n.fate != upgrades
	})
}

// cutOff lets the nodes of a site be unavailable until the controller has noticed it. They get no slots meanwhile.
func (f *fleet) cutOff(ctx context.Context) error {
	setReady := func(ready corev1.ConditionStatus) error {
		var errs []error
		for _, n := range f.site() {
			errs = append(errs, n.kubelet.setReady(ctx, ready))
		}
		return errors.Join(errs...)
	}
	if err := setReady(corev1.ConditionUnknown); err != nil {
		return err
	}
	err := f.observer.await(ctx, "the outage is reported", func() bool {
		return strings.Contains(f.observer.rollout.Waiting, "of the nodes are unavailable, at most")
	})
	return errors.Join(err, setReady(corev1.ConditionTrue))
}

// isRolledOut reports whether the rollout has ended, and the status of each node contains it.
func (f *fleet) isRolledOut() bool {
	status := f.observer.rollout
	if status.Config != newConfig || int(status.Updated+status.Failed) != len(f.nodes) || len(status.Slots) > 0 {
		return false
	}
	return f.all(func(n *node, status v1alpha1.NodeEnrollmentStatus) bool {
		switch n.fate {
		case upgrades:
			return status.Phase == v1alpha1.PhaseReady && status.ConfigHash == newConfig
		case dies:
			return status.Phase != v1alpha1.PhaseReady
		}
		return status.Phase == v1alpha1.PhaseFailed
	})
}

// audit returns the most nodes that were unavailable, and the rules that were broken.
func (f *fleet) audit(limit int) (unavailable int, violations []string) {
	f.observer.mu.Lock()
	defer f.observer.mu.Unlock()
	own := map[string]string{}
	for _, n := range f.nodes {
		own[n.name+" "+certificatesv1.KubeAPIServerClientKubeletSignerName] = n.csr
		own[n.name+" "+certificatesv1.KubeletServingSignerName] = n.kubelet.csr
	}
	a := audit{limit: limit, config: newConfig, hostile: f.hostile, own: own, cut: sets.New[string]()}
	for _, n := range f.site() {
		a.cut.Insert(n.name)
	}
	violations = a.check(f.observer.history)
	for _, name := range own {
		if a.approvals[name] == "" {
			violations = append(violations, "the observer has not seen the approval of "+name)
		}
	}
	want, got := sets.New[string](), sets.New[string]()
	for _, n := range f.nodes {
		if n.fate != upgrades {
			want.Insert(n.name)
		}
		if a.used[n.name].Len() != 1 {
			violations = append(violations, fmt.Sprintf("node %s was upgraded %d times", n.name, a.used[n.name].Len()))
		}
	}
	for _, failure := range f.observer.rollout.Failures {
		if got.Insert(failure.Node); !want.Has(failure.Node) {
			violations = append(violations, "the upgrade of "+failure.Node+" failed: "+failure.Reason)
		}
	}
	if missing := sets.List(want.Difference(got)); len(missing) > 0 {
		violations = append(violations, "failures are not recorded: "+strings.Join(missing, ", "))
	}
	return a.unavailable, violations
}
