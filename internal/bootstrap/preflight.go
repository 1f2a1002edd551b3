package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PreflightDocument is what stands in the way of a join.
type PreflightDocument struct {
	report.TypeMeta
	preflight.Result
}

// Preflight runs the checks that need no payload. Its failure is what join
// would refuse for.
func Preflight(ctx context.Context, options Options) (PreflightDocument, error) {
	document := PreflightDocument{TypeMeta: report.Meta("Preflight")}
	j, err := look(ctx, options)
	if err != nil {
		return document, err
	}
	defer j.close()
	facts, err := j.hostFacts(ctx, report.Log{Sink: j.sink, Step: "preflight"})
	if err != nil {
		return document, err
	}
	document.Result = preflight.Run(preflight.Host(), facts)
	if j.packaged() {
		document.Checked++
		document.Findings = append(document.Findings, j.packageFindings(ctx)...)
	}
	return document, document.Err()
}
