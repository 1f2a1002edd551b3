package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// inspectServing returns findings if a running kubelet has no serving certificate,
// or one for a previous address.
func inspectServing(ctx context.Context, p *diagnostics) ([]DoctorFinding, error) {
	if !p.hasStarted() || !p.state.hasCompleted("kubelet") || !p.facts.Root {
		return nil, nil
	}
	node, err := p.ownNode()
	if err != nil {
		return nil, nil //nolint:nilerr // the parts for the join and the certificates say it
	}
	serving, err := servingCertificate(node, p.state.topology())
	if err != nil {
		return nil, err
	}
	return servingFindings(ctx, serving), nil
}

// servingFindings returns the reason why kubelet has no serving certificate for
// this host, or nothing if it has one.
func servingFindings(ctx context.Context, serving *identity.Serving) []DoctorFinding {
	if serving.Check() == identity.Valid {
		return nil
	}
	return []DoctorFinding{evaluateServing(serving.CheckInitial(ctx))}
}

func evaluateServing(next identity.Renewal, err error) DoctorFinding {
	const without = "kubelet has no serving certificate for this host as it is now, so logs of its pods and exec into them fail: "
	if err != nil {
		return DoctorFinding{Severity: report.SeverityProblem, Text: without + "what became of its CSR is not known: " + err.Error(), Remedy: report.Remedy(report.RemedyOf(err))}
	}
	return DoctorFinding{Severity: report.SeverityProblem, Text: without + next.Text, Remedy: report.Remedy(next.Remedy)}
}
