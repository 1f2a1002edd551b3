// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const apiServerSection = "api-server"

// serverTimeout limits the attempts to reach each server.
const serverTimeout = 10 * time.Second

// inspectAPIServer connects to the API server as kubelet does.
func inspectAPIServer(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	own, err := d.ownNode()
	if own == nil {
		return nil, err
	}
	return apiServerFindings(ctx, own.Conn), nil
}

// apiServerFindings returns a problem if the API server does not respond at all. Any response is sufficient: what it
// means is reported by the checks that need it.
func apiServerFindings(ctx context.Context, conn *kube.Conn) []report.Finding {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	_, err := kube.Send(ctx, conn.Client.RESTClient().Get().AbsPath("/version"))
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return []report.Finding{passed("the API server %s responds", conn.Server)}
	}
	why := conn.Explain(ctx, err)
	unreachable := problem(why.Remedy, "the API server %s does not respond: %s", conn.Server, why.Message)
	unreachable.Reason = report.APIServerUnreachable
	return []report.Finding{unreachable}
}
