// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ClientCAPath is where a payload stores the CAs that kubelet verifies its
// clients with (authentication.x509.clientCAFile). The main client is the API
// server, for logs and exec.
const ClientCAPath = "/etc/kubernetes/kubelet-ca.crt"

// caExpiryWarning is how long before the expiry of a CA a warning is issued. Fetching new
// user data in a maintenance window can take some weeks.
const caExpiryWarning = 30 * 24 * time.Hour

// CheckClientCAs checks whether kubelet still accepts its clients. On platform None no
// controller distributes new CAs to a node, and kubelet reports rejected API
// server requests only in its journal.
func (h Host) CheckClientCAs(ctx context.Context, file string, now time.Time) ([]report.Finding, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // this payload stores the CAs elsewhere
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CAs of kubelet's clients: %w", err)
	}
	cas, err := kube.ParsePEMCertificates(content)
	if err != nil {
		return nil, fmt.Errorf("reading the CAs of kubelet's clients: %s: %w", file, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("reading the CAs of kubelet's clients: %w", err)
	}
	since := fmt.Sprintf("--since=@%d", rejectionsSince(info.ModTime(), now).Unix())
	return clientCAFindings(cas, servicelog.LastErrors(ctx, systemd.KubeletUnit, 60, since), file, now), nil
}

// rejectionsSince returns the time after which requests that kubelet has rejected matter: kubelet then
// used the current CAs. It reloads changed CAs within a minute (FileRefreshDuration in
// k8s.io/apiserver/pkg/server/dynamiccertificates).
func rejectionsSince(changed, now time.Time) time.Time {
	return slices.MaxFunc([]time.Time{now.Add(-time.Hour), changed.Add(time.Minute)}, time.Time.Compare)
}

// clientCAFindings returns the findings about kubelet's client CAs. A rejected request
// in the journal takes precedence, because the file can contain several CAs and
// only the newest is in use.
func clientCAFindings(cas []*x509.Certificate, kubeletErrors []string, file string, now time.Time) []report.Finding {
	const remedy = "hcp-node-agent join --user-data USER_DATA # with current user data, which contains the new CAs"
	f := report.Finding{Subject: "kubelet's clients", Remedy: remedy}
	for _, line := range kubeletErrors {
		if strings.Contains(line, "Unable to authenticate the request") && strings.Contains(line, "x509") {
			f.Severity, f.Reason = report.SeverityProblem, report.ClientCAOutdated
			f.Details = []string{servicelog.FormatLine(line)}
			f.Message = "kubelet rejects requests because it does not trust the CA of its clients (" + file + "): " +
				"logs, exec and metrics of this node fail; the cluster's CAs have changed since the join"
			return []report.Finding{f}
		}
	}
	newest := slices.MaxFunc(cas, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	switch {
	case now.After(newest.NotAfter):
		f.Severity, f.Reason = report.SeverityProblem, report.ClientCAExpired
		f.Message = fmt.Sprintf("the last CA of kubelet's clients expired at %s (%s): logs, exec and metrics of "+
			"this node fail", report.Timestamp(newest.NotAfter), file)
	case now.Add(caExpiryWarning).After(newest.NotAfter):
		f.Severity, f.Reason = report.SeverityWarning, report.ClientCAExpiring
		f.Message = fmt.Sprintf("the last CA of kubelet's clients expires at %s (%s): logs, exec and metrics of "+
			"this node will fail then", report.Timestamp(newest.NotAfter), file)
	default:
		return nil
	}
	return []report.Finding{f}
}
