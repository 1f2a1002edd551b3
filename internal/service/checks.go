package service

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/monitor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/servingcert"
)

// checks returns the checks of the service and their intervals. For 100 nodes they
// cause at most a few API requests per minute.
func (w *nodeMonitor) checks() []monitor.Check {
	return []monitor.Check{
		{Name: "node", Interval: time.Minute, Find: w.checkNode},
		{Name: "host", Interval: 10 * time.Minute, Find: w.checkDrift},
		{Name: "certificates", Interval: 15 * time.Minute, Find: w.checkCertificates},
		{Name: "authorities", Interval: time.Hour, Find: w.checkCAs},
		{Name: "images", Interval: 6 * time.Hour, Find: w.checkImages},
	}
}

// checkNode returns the reasons why the Node is not Ready or not schedulable.
func (w *nodeMonitor) checkNode(ctx context.Context) ([]report.Finding, error) {
	return w.node.Findings(ctx)
}

// checkDrift returns a finding if the host differs from the state that the join
// created.
func (w *nodeMonitor) checkDrift(ctx context.Context) ([]report.Finding, error) {
	m, err := machine.Open(ctx, w.StateDir, false)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	drift, err := m.Ledger.Drift(ctx)
	if err != nil || len(drift) == 0 {
		return nil, err
	}
	const shown = 3
	names := make([]string, 0, len(drift))
	for _, d := range drift {
		names = append(names, d.Target)
	}
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", more))
	}
	return []report.Finding{{
		Severity: report.SeverityWarning, Subject: "drift", Message: "drift: " + strings.Join(names, ", "),
		Remedy: "hcp-node-agent status # shows all drift; hcp-node-agent join restores the joined state",
	}}, nil
}

// checkCertificates returns findings about the renewal of kubelet's certificates.
func (w *nodeMonitor) checkCertificates(ctx context.Context) ([]report.Finding, error) {
	identity := &identity.Identity{Dir: identity.PKIDirectory, NodeName: w.state.NodeName}
	serving, err := servingcert.Open(w.node, w.state.Topology())
	if err != nil {
		return nil, err
	}
	found, err := checkServing(ctx, serving)
	return append(renewalFinding("client certificate", identity.CheckRenewal(time.Now())), found...), err
}

// checkServing returns a finding if a CSR for the serving certificate awaits
// approval. kubelet submits a CSR if it has no certificate or if the host's address
// changes. On platform None no controller approves it.
func checkServing(ctx context.Context, serving *identity.Serving) ([]report.Finding, error) {
	const about = "serving certificate"
	if text, remedy := servingcert.Problem(ctx, serving); text != "" {
		return []report.Finding{{Severity: report.SeverityProblem, Subject: about, Message: text, Remedy: remedy}}, nil
	}
	next, err := serving.CheckRenewal(ctx)
	return renewalFinding(about, next), err
}

func renewalFinding(about string, next identity.Renewal) []report.Finding {
	if next.Text == "" {
		return nil
	}
	return []report.Finding{{Severity: report.SeverityWarning, Subject: about, Message: next.Text, Remedy: next.Remedy}}
}

// checkCAs returns findings about certificate authorities that the node does not
// trust: those of the API server's certificate and those of kubelet's clients.
func (w *nodeMonitor) checkCAs(ctx context.Context) ([]report.Finding, error) {
	found, err := w.node.Host.CheckClientCAs(ctx, node.ClientCAPath, time.Now())
	if err != nil {
		return nil, err
	}
	kubeconfig, err := os.ReadFile(identity.KubeconfigPath)
	if err != nil {
		return found, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	cluster, err := kube.ParseCluster(kubeconfig)
	if err != nil {
		return found, err
	}
	unknown, err := w.node.MissingCAs(ctx, cluster)
	if err != nil || len(unknown) == 0 {
		return found, err
	}
	return append(found, report.Finding{
		Severity: report.SeverityWarning, Subject: "the cluster's CAs",
		Message: fmt.Sprintf("the cluster has a new CA that this node does not trust (%s): the node will lose its "+
			"connection when the API server uses a certificate of that CA",
			strings.Join(unknown, "; ")),
		Remedy: "hcp-node-agent join --user-data USER_DATA # with current user data",
	}), nil
}

// checkImages returns a finding if images can no longer be pulled. It tests this
// with the pause image, which exists locally. An expired pull secret otherwise goes
// unnoticed.
func (w *nodeMonitor) checkImages(ctx context.Context) ([]report.Finding, error) {
	effective, err := crio.RunningConfig(ctx)
	if err != nil {
		return nil, err
	}
	return w.node.Host.CheckPull(ctx, effective.PauseImage)
}
