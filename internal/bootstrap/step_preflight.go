// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// checkHost runs the preflight checks.
func checkHost(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	// Roll back an unfinished migration of the uplink first, because the checks read
	// the network configuration.
	j.Host.Bridge.Log = log
	if err := awaitFirstBoot(ctx, j.Host, log); err != nil {
		return steps.Outcome{}, err
	}
	if err := j.Host.Bridge.Recover(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := j.Uplink.Await(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	facts, err := j.Session.HostFacts(ctx, j.Uplink, true)
	if err != nil {
		return steps.Outcome{}, err
	}
	if facts.EndpointTemporary != nil {
		log.Note(facts.EndpointTemporary.Error() + "; the fetch step retries")
	}
	return reportFindings(preflight.Run(preflight.HostChecks(), facts).ForClass(facts.Host.Class()), log)
}

// reportFindings logs the warnings of the checks, and fails if a finding refuses
// the join.
func reportFindings(result preflight.Result, log report.Log) (steps.Outcome, error) {
	for _, finding := range result.Findings {
		if finding.Severity == report.SeverityWarning {
			log.Warn(finding.Message, finding.Remedy)
		}
	}
	if err := result.Err(); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Unchanged("%s", result.Summary())
}
