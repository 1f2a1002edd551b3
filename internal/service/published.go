// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PublishedUserData returns the user data of a configuration from a Secret of the hosted cluster, and the maximum time
// of the drain for an upgrade to it, 0 for the default.
func PublishedUserData(
	ctx context.Context, client *kube.Client, secret, config string,
) ([]byte, time.Duration, error) {
	remedy := report.Remedyf("oc --kubeconfig hosted.kubeconfig -n %s get secret,rolebinding %s",
		v1alpha1.Namespace, report.ShellWord(secret))
	object, err := client.Secrets(v1alpha1.Namespace).Get(ctx, secret)
	switch {
	case apierrors.IsForbidden(err):
		return nil, 0, report.Fail(report.CredentialRefused, remedy,
			"the node may not get Secret %s with the user data of its NodePool: %w", secret, err)
	case err != nil:
		return nil, 0, report.Fail(report.Failed, remedy, "getting Secret %s with the user data of the NodePool: %w",
			secret, err)
	}
	content := object.Data[v1alpha1.UserDataKey]
	userData, err := ignition.ParseUserData(content)
	if err != nil {
		return nil, 0, report.Fail(report.Failed, remedy, "Secret %s: %w", secret, err)
	}
	if got := userData.ConfigHash(); got != config {
		return nil, 0, report.Fail(report.Failed, remedy,
			"Secret %s has configuration %s now; permitted is the upgrade to %s", secret, got, config)
	}
	return content, v1alpha1.StateOfPublished(object).DrainTimeout, nil
}

// sharedSink passes the events of several goroutines to a sink one after the other.
type sharedSink struct {
	mutex sync.Mutex
	sink  report.Sink
}

// Emit passes an event on.
func (s *sharedSink) Emit(event report.Event) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sink.Emit(event)
}

// progressSink keeps what a run does or awaits.
type progressSink struct {
	mutex sync.Mutex
	text  string
}

// Emit keeps the text of an event that begins something.
func (p *progressSink) Emit(event report.Event) {
	switch event.Kind {
	case report.StepStarted:
		p.set("step " + event.Step)
	case report.Waiting:
		p.set(event.Message)
	default:
	}
}

func (p *progressSink) set(text string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.text = text
}

func (p *progressSink) get() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text
}
