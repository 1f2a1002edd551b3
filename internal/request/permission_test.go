// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// The controller permits a host to read the user data some seconds after its enrollment.
func TestUserDataOfTheClusterAwaitsPermission(t *testing.T) {
	cluster := newFakeCluster(t)
	cluster.status = http.StatusForbidden
	cluster.failures.Store(2)
	userData := flowtest.EncodeUserData(t, "a.example.com", "clusters/workers", "11")
	cluster.data = map[string][]byte{"user-data.ign": userData}
	var events flowtest.Events
	in, err := Read(t.Context(), Options{
		Config: config.Join{JoinToken: flowtest.WriteTempFile(t, cluster.token(t, nil))}, Sink: &events,
		StateDir: t.TempDir(),
	}, joinstate.State{}, UserDataRequired)
	if err != nil || in.UserData == nil || in.UserData.NodePool() != "clusters/workers" || cluster.requests.Load() != 3 {
		t.Errorf("%v after %d requests, %v", in.UserData, cluster.requests.Load(), err)
	}
	const awaited = "waiting for the permission to read the user data"
	if count := strings.Count(fmt.Sprint(events), awaited); count != 2 {
		t.Errorf("events %q", events)
	}
}

// A revoked credential is not retried: the API server rejects it with another status.
func TestAwaitPermission(t *testing.T) {
	for status, want := range map[int]int{http.StatusForbidden: 2, http.StatusUnauthorized: 1, http.StatusOK: 1} {
		requests := 0
		begin := time.Now()
		err := awaitPermission(t.Context(), report.Log{}, permissionInterval/2, func() error {
			requests++
			if status == http.StatusOK {
				return nil
			}
			return fmt.Errorf("getting the Secret: %w", &apierrors.StatusError{
				ErrStatus: metav1.Status{Reason: reasons[status], Code: int32(status)}, //nolint:gosec // a status of HTTP
			})
		})
		if requests != want || (err == nil) != (status == http.StatusOK) || time.Since(begin) > 5*permissionInterval {
			t.Errorf("HTTP %d: %d requests in %s, %v", status, requests, time.Since(begin), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	requests := 0
	err := awaitPermission(ctx, report.Log{}, time.Hour, func() error {
		requests++
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden}}
	})
	if !errors.Is(err, context.Canceled) || requests != 1 {
		t.Errorf("after an interruption: %d requests, %v", requests, err)
	}
}
