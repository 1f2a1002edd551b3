// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// Conn is a connection to the API server with one credential.
type Conn struct {
	Endpoint

	Client *Client
}

// Connect prepares a connection with the settings of config. It does not modify
// config and sends no request.
func Connect(config *rest.Config, proxy Proxy) (*Conn, error) {
	config = rest.CopyConfig(config)
	endpoint, err := NewEndpoint(config, proxy)
	if err != nil {
		return nil, err
	}
	client, err := NewClient(config)
	if err != nil {
		return nil, err
	}
	return &Conn{Endpoint: endpoint, Client: client}, nil
}

// Retry repeats request until it succeeds, fails permanently, or ctx ends. It
// logs every temporary failure, and blocks between attempts.
func (c *Conn) Retry(ctx context.Context, log report.Log, doing string, request func() error) error {
	pause := wait.NewBackoff()
	var last error // the last failure before ctx ended
	for {
		err := request()
		if err == nil {
			return nil
		}
		problem := c.Explain(ctx, err)
		if !problem.Temporary {
			return problem.Failure(doing)
		}
		next := pause.Step()
		if ctx.Err() == nil || last == nil {
			last = problem.Failure(doing)
			log.WaitForRetry("waiting for the API server: "+doing+": "+problem.Message, problem.Remedy, next)
		}
		if wait.Sleep(ctx, next) != nil {
			return report.WaitError(ctx, last)
		}
	}
}

// Fetch returns the result of get, which it repeats like Retry.
func Fetch[T any](ctx context.Context, c *Conn, log report.Log, doing string, get func() (T, error)) (T, error) {
	var result T
	err := c.Retry(ctx, log, doing, func() (err error) {
		result, err = get()
		return err
	})
	return result, err
}

// LastRenewal returns when kubelet last renewed the Lease of its node, or zero if that is unknown. kubelet renews it
// every ten seconds, and reports its status every five minutes.
func (c *Conn) LastRenewal(ctx context.Context, node string) time.Time {
	lease, err := c.Client.Leases(corev1.NamespaceNodeLease).Get(ctx, node)
	if err != nil || lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Time
}
