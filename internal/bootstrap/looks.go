package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/watch"
)

// looks returns the checks of the service and their intervals. For 100 nodes they
// cause at most a few API requests per minute.
func (s *service) looks() []watch.Look {
	return []watch.Look{
		{Name: "node", Every: time.Minute, Find: s.lookNode},
		{Name: "host", Every: 10 * time.Minute, Find: s.lookDrift},
		{Name: "certificates", Every: 15 * time.Minute, Find: s.lookCertificates},
		{Name: "authorities", Every: time.Hour, Find: s.lookAuthorities},
		{Name: "images", Every: 6 * time.Hour, Find: s.lookImages},
	}
}

// lookNode returns the reasons why the Node is not Ready or not schedulable.
func (s *service) lookNode(ctx context.Context) ([]watch.Finding, error) {
	return s.found(s.node.Findings(ctx))
}

// lookDrift returns a finding if the host differs from the state that the join
// created.
func (s *service) lookDrift(ctx context.Context) ([]watch.Finding, error) {
	m, err := openMachine(ctx, s.StateDir, false)
	if err != nil {
		return nil, err
	}
	defer m.close()
	drift, err := m.ledger.Drift(ctx)
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
	return []watch.Finding{{
		Severity: report.SeverityWarning, About: "drift", Text: "not as the join left it: " + strings.Join(names, ", "),
		Remedy: "hcp-node-agent status # shows all of it; hcp-node-agent join makes it so again",
	}}, nil
}

// lookCertificates returns findings about the renewal of kubelet's certificates.
func (s *service) lookCertificates(ctx context.Context) ([]watch.Finding, error) {
	identity := &kubelet.Identity{Dir: kubelet.PKIDirectory, NodeName: s.state.NodeName}
	serving, err := servingOf(s.node, s.state.place())
	if err != nil {
		return nil, err
	}
	found, err := lookServing(ctx, serving)
	return append(renewal("client certificate", identity.Renewal(time.Now())), found...), err
}

// lookServing returns a finding if a CSR for the serving certificate awaits
// approval. kubelet submits a CSR if it has no certificate or if the host's address
// changes. On platform None no controller approves it.
func lookServing(ctx context.Context, serving *kubelet.Serving) ([]watch.Finding, error) {
	const about = "serving certificate"
	if found := servingFindings(ctx, serving); len(found) > 0 {
		return []watch.Finding{{Severity: found[0].Severity, About: about, Text: found[0].Text, Remedy: string(found[0].Remedy)}}, nil
	}
	next, err := serving.Renewal(ctx)
	return renewal(about, next), err
}

func renewal(about string, next kubelet.Renewal) []watch.Finding {
	if next.Text == "" {
		return nil
	}
	return []watch.Finding{{Severity: report.SeverityWarning, About: about, Text: next.Text, Remedy: next.Remedy}}
}

// lookAuthorities returns findings about certificate authorities that the node does not
// trust: those of the API server's certificate and those of kubelet's clients.
func (s *service) lookAuthorities(ctx context.Context) ([]watch.Finding, error) {
	found, err := s.found(s.node.Machine.Callers(ctx, kubelet.ClientCAPath, time.Now()))
	if err != nil {
		return nil, err
	}
	kubeconfig, err := os.ReadFile(kubelet.KubeconfigPath)
	if err != nil {
		return found, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	ours, err := kubelet.ClusterOf(kubeconfig)
	if err != nil {
		return found, err
	}
	unknown, err := s.node.NewAuthorities(ctx, ours)
	if err != nil || len(unknown) == 0 {
		return found, err
	}
	return append(found, watch.Finding{
		Severity: report.SeverityWarning, About: "the cluster's authorities",
		Text: fmt.Sprintf("the cluster has an authority that this node does not trust (%s): the node is lost to it when the API server takes a certificate of that one",
			strings.Join(unknown, "; ")),
		Remedy: "hcp-node-agent join --user-data STUB # with a fresh stub",
	}), nil
}

// lookImages returns a finding if images can no longer be pulled. It tests this
// with the pause image, which exists locally. An expired pull secret otherwise goes
// unnoticed.
func (s *service) lookImages(ctx context.Context) ([]watch.Finding, error) {
	effective, err := crio.Effective(ctx)
	if err != nil {
		return nil, err
	}
	return s.found(s.node.Machine.Pullable(ctx, effective.PauseImage))
}

// found converts findings of package kubelet to those of package watch.
func (s *service) found(all []kubelet.Finding, err error) ([]watch.Finding, error) {
	found := make([]watch.Finding, 0, len(all))
	for _, f := range all {
		found = append(found, watch.Finding{Severity: f.Severity, About: cmp.Or(f.About, f.Text), Text: f.Text, Remedy: f.Remedy, Blind: f.Blind})
	}
	return found, err
}
