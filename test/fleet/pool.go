// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// The NodePool of all nodes, and its configurations.
const (
	nodePool  = "workers"
	oldConfig = "0a0a0a0a"
	newConfig = "1b1b1b1b"

	replicaCount          = 3
	maxUnavailablePercent = 5
	slotTimeout           = time.Minute // more than an upgrade takes while there is no leader
)

// releases are the releases of the configurations.
var releases = map[string]string{oldConfig: "4.21.3", newConfig: "4.21.4"}

// killAt are the shares of upgraded nodes at which the leader is killed.
var killAt = []float64{0.2, 0.45, 0.7}

// maxUnavailable returns the number of nodes that may be unavailable.
func maxUnavailable(nodes int) int { return max(1, nodes*maxUnavailablePercent/100) }

// newRollout returns the NodeRollout of the pool.
func newRollout() *v1alpha1.NodeRollout {
	return &v1alpha1.NodeRollout{
		ObjectMeta: metav1.ObjectMeta{Name: nodePool},
		Spec: v1alpha1.NodeRolloutSpec{
			MaxUnavailable: ptr.To(intstr.FromString(fmt.Sprintf("%d%%", maxUnavailablePercent))),
			MaxFailures:    math.MaxInt32,
			SlotTimeout:    &metav1.Duration{Duration: slotTimeout},
		},
	}
}

// userData returns the user data of a configuration.
func (f *fleet) userData(config string) ([]byte, error) {
	content, err := os.ReadFile(f.plane.UserData)
	if err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	userData, err := ignition.ParseUserData(content)
	if err != nil {
		return nil, err
	}
	if userData, err = userData.Override(ignition.Values{Hash: config}); err != nil {
		return nil, err
	}
	return userData.Encode()
}

// publish writes the user data of a configuration as the publisher does.
func (f *fleet) publish(ctx context.Context, config string) error {
	content, err := f.userData(config)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(nodePool),
			Labels: map[string]string{v1alpha1.LabelNodePool: nodePool},
		},
		Data: map[string][]byte{v1alpha1.UserDataKey: content},
	}
	v1alpha1.PublishedState{
		Config: config, Release: releases[config], MaxUnavailable: "1", Expires: time.Now().Add(5 * time.Hour),
	}.WriteTo(secret)
	err = f.objects.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		err = f.objects.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("publishing the user data: %w", err)
	}
	return nil
}
