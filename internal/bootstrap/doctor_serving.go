package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// examineServing finds what a kubelet that runs and has no serving certificate
// waits for.
func examineServing(ctx context.Context, p *patient) ([]DoctorFinding, error) {
	if !p.begun() || !p.state.behind("kubelet") || !p.facts.Root {
		return nil, nil
	}
	node, err := p.ownNode()
	if err != nil {
		return nil, nil //nolint:nilerr // the parts for the join and the certificates say it
	}
	serving, err := servingOf(node, p.state.place())
	if err != nil || serving.Check() == kubelet.Valid {
		return nil, err
	}
	next, err := serving.First(ctx)
	return []DoctorFinding{judgeServing(next, err)}, nil
}

func judgeServing(next kubelet.Renewal, err error) DoctorFinding {
	const without = "kubelet has no serving certificate, so logs of its pods and exec into them fail: "
	if err != nil {
		return DoctorFinding{Severity: report.SeverityProblem, Text: without + "what became of its CSR is not known: " + err.Error(), Remedy: report.RemedyOf(err)}
	}
	return DoctorFinding{Severity: report.SeverityProblem, Text: without + next.Text, Remedy: next.Remedy}
}
