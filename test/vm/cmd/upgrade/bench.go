// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const (
	replicas = 3 // pods of the node's Deployment

	kubeletConfig = "/etc/kubernetes/kubelet.conf"
	crioConfig    = "/etc/crio/crio.conf.d/90-benchmark.conf"

	// restartServices writes the files again, and restarts CRI-O and kubelet.
	restartServices = "for f in " + kubeletConfig + " " + crioConfig + "; do cp -p $f $f.new; mv $f.new $f; done; " +
		"systemctl restart crio kubelet"
	// pollInterval is the time between two requests for a state of the cluster.
	pollInterval = 100 * time.Millisecond
)

// join joins the machine, and starts the workload.
func (b *bench) join(ctx context.Context) error {
	if err := errors.Join(b.env.Install(ctx), b.env.CopyInputs(ctx)); err != nil {
		return err
	}
	if _, err := b.env.Machine.Output(ctx, testenv.JoinCommand); err != nil {
		return err
	}
	return b.env.CreateWorkload(ctx, replicas)
}

// measureUpgrade upgrades the node to a payload with another configuration of CRI-O and kubelet.
func (b *bench) measureUpgrade(ctx context.Context, round int) error {
	payload, err := b.env.Payload()
	if err != nil {
		return err
	}
	kubelet, err := payload.File(kubeletConfig)
	if err != nil {
		return err
	}
	change := fmt.Sprintf("# round %d\n", round)
	payload.SetFile(kubeletConfig, kubelet+change)
	payload.SetFile(crioConfig, change)
	if err := errors.Join(b.env.Serve(ctx, payload), b.settle(ctx)); err != nil {
		return err
	}
	began := time.Now()
	cordon, err := b.measureCordon(ctx, func() error {
		out, err := b.env.Machine.Output(ctx, "hcp-node-agent upgrade -o json --user-data "+testenv.UserDataPath)
		if err != nil {
			return err
		}
		b.upgrades = append(b.upgrades, time.Since(began))
		b.steps, err = testenv.ParseSteps(out)
		return err
	})
	b.cordons = append(b.cordons, cordon)
	return err
}

// measureFloor does what an upgrade must do while the node is unschedulable.
func (b *bench) measureFloor(ctx context.Context) error {
	if err := b.settle(ctx); err != nil {
		return err
	}
	cordon, err := b.measureCordon(ctx, func() error {
		if err := errors.Join(b.setUnschedulable(ctx, true), b.evict(ctx)); err != nil {
			return err
		}
		heartbeat, err := b.heartbeat(ctx)
		if err != nil {
			return err
		}
		if _, err := b.env.Machine.Output(ctx, restartServices); err != nil {
			return err
		}
		err = b.poll(ctx, "the Node to be Ready again", func() (bool, error) {
			now, err := b.heartbeat(ctx)
			return err == nil && now.After(heartbeat), nil
		})
		return errors.Join(err, b.setUnschedulable(ctx, false))
	})
	b.floors = append(b.floors, cordon)
	return err
}

// settle waits until all pods run and the machine is idle.
func (b *bench) settle(ctx context.Context) error {
	if err := b.env.AwaitWorkload(ctx); err != nil {
		return err
	}
	_, err := b.env.Machine.Output(ctx, testenv.AwaitIdle)
	return err
}

// measureCordon runs a function that makes the node unschedulable, and returns for how long it was.
func (b *bench) measureCordon(ctx context.Context, change func() error) (time.Duration, error) {
	watch, err := b.env.Client.CoreV1().Nodes().Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: testenv.NodeName}))
	if err != nil {
		return 0, fmt.Errorf("watching the Node: %w", err)
	}
	cordon := make(chan time.Duration, 1)
	go func() {
		defer close(cordon)
		var began time.Time
		for event := range watch.ResultChan() {
			node, isNode := event.Object.(*corev1.Node)
			switch {
			case !isNode:
			case node.Spec.Unschedulable && began.IsZero():
				began = time.Now()
			case !node.Spec.Unschedulable && !began.IsZero():
				cordon <- time.Since(began)
				return
			}
		}
	}()
	err = change()
	if err != nil {
		watch.Stop()
		return 0, err
	}
	defer watch.Stop()
	select {
	case took, measured := <-cordon:
		if !measured {
			return 0, errors.New("the watch of the Node has ended")
		}
		return took, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (b *bench) setUnschedulable(ctx context.Context, unschedulable bool) error {
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, unschedulable)
	_, err := b.env.Client.CoreV1().Nodes().Patch(ctx, testenv.NodeName, types.MergePatchType, patch,
		metav1.PatchOptions{})
	return err
}

// evict evicts the pods of the Deployment, and waits until they are gone.
func (b *bench) evict(ctx context.Context) error {
	selector := metav1.ListOptions{
		LabelSelector: "app=" + testenv.Workload, FieldSelector: "spec.nodeName=" + testenv.NodeName,
	}
	pods := b.env.Client.CoreV1().Pods(metav1.NamespaceDefault)
	list, err := pods.List(ctx, selector)
	if err != nil {
		return fmt.Errorf("listing the pods: %w", err)
	}
	for _, pod := range list.Items {
		if err := pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}); err != nil {
			return fmt.Errorf("evicting a pod: %w", err)
		}
	}
	return b.poll(ctx, "the end of the pods", func() (bool, error) {
		list, err := pods.List(ctx, selector)
		return err == nil && len(list.Items) == 0, err
	})
}

// heartbeat returns when kubelet reported the last time that the Node is Ready.
func (b *bench) heartbeat(ctx context.Context) (time.Time, error) {
	node, err := b.env.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, fmt.Errorf("getting the Node: %w", err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return condition.LastHeartbeatTime.Time, nil
		}
	}
	return time.Time{}, errors.New("the Node is not Ready")
}

func (b *bench) poll(ctx context.Context, event string, reached func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval, waittest.Timeout, true,
		func(context.Context) (bool, error) { return reached() })
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", event, err)
	}
	return nil
}
