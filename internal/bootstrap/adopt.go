// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Adopt records this host, which is a node of the cluster, as joined. It changes only the agent's own records. If it
// fails, it removes them. An interrupted Adopt is repeated.
func Adopt(ctx context.Context, options request.Options) (document *plan.AdoptionDocument, err error) {
	err = joinHost(ctx, options, func(ctx context.Context, j *Flow) error {
		document, err = j.adopt(ctx, options)
		return err
	})
	return document, err
}

func (j *Flow) adopt(ctx context.Context, options request.Options) (*plan.AdoptionDocument, error) {
	adopting, err := joinstate.IsAdopting(j.Run.Dir, j.Run.State)
	if err == nil {
		err = plan.CheckUnrecorded(j.Run.State, j.Host.Ledger.Items(), adopting)
	}
	if err == nil {
		err = j.Host.RequireSystemd()
	}
	if err != nil {
		return nil, err
	}
	j.Run.Sink = options.RemedySink(func() bool { return false })
	var adoption plan.Adoption
	if err := j.runAdoption(ctx, adoptionSteps(&adoption)); err != nil {
		return nil, options.CompleteError(err)
	}
	report.Log{Sink: j.Run.Sink}.Headline(adoptedText(j.Run.State.NodeName, len(adoption.Differences)))
	return adoption.Document(), nil
}

// runAdoption runs the steps and records the host as joined. If it fails, it removes all records: nothing was changed.
func (j *Flow) runAdoption(ctx context.Context, all []Step) error {
	records := newJoinRecord(j.Run, j.Host)
	err := func() error {
		// First: a leave then only removes the records, and does not stop the node.
		if err := (joinstate.AdoptionRecord{}).Save(j.Run.Dir); err != nil {
			return err
		}
		if err := j.Host.Ledger.Forget(); err != nil { // what an interrupted adoption has recorded
			return err
		}
		if err := records.prepare(); err != nil {
			return err
		}
		report.Log{Sink: j.Run.Sink}.Headline("adopting this host, which is a node already: only the agent's records change")
		if _, err := steps.Run(ctx, steps.Runner{Sink: j.Run.Sink}, all, j); err != nil {
			return err
		}
		return finishAdoption(records)
	}()
	if err == nil {
		return nil
	}
	if forgotten := j.Host.Ledger.Forget(); forgotten != nil {
		return errors.Join(err, forgotten)
	}
	records.remove()
	return err
}

// adoptionSteps returns the steps of an adoption in order. The last one sets adoption.
func adoptionSteps(adoption *plan.Adoption) []Step {
	return []Step{
		{Name: steps.Fetch, Description: "download the Ignition payload", Run: fetchPayload},
		{Name: steps.Plan, Description: "adapt the payload to this host", Run: makePlan},
		{Name: "node", Description: "check that this host is a node of the cluster", Run: checkAdoptable},
		{
			Name: "record", Description: "record what the node consists of",
			Run: func(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
				var err error
				if *adoption, err = j.Session.CompareAdoption(ctx, j.Plan); err != nil {
					return steps.Outcome{}, err
				}
				document := adoption.Document()
				for _, difference := range document.Differences {
					log.Note("differs: " + difference.String())
				}
				if err := recordAdoption(ctx, j, *adoption); err != nil {
					return steps.Outcome{}, err
				}
				return steps.Changed("objects of the node: %d, kept by a leave: %d, different: %d", document.Recorded,
					len(document.Kept), len(document.Differences))
			},
		},
	}
}

// checkAdoptable fails unless this host is a Ready node of the cluster.
func checkAdoptable(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	facts, err := j.Session.AdoptionFacts(ctx, j.Plan, j.Loaded.Payload, log)
	if err == nil {
		err = facts.Check()
	}
	if err != nil {
		return steps.Outcome{}, err
	}
	return steps.Unchanged("Node %s of %s is Ready", j.Plan.NodeName, j.Plan.Cluster.Server)
}

// recordAdoption writes the record of the adoption and the ledger, in the order in which a join makes the changes.
func recordAdoption(ctx context.Context, j *Flow, adoption plan.Adoption) error {
	l := j.Host.Ledger
	hasBootstrap, err := j.Host.Tree.Exists(ignition.BootstrapKubeconfigPath)
	if err == nil && !hasBootstrap && j.Run.State.Hosted && j.Loaded.Payload.BootstrapKubeconfig() != nil {
		err = saveWithout(j.Run.Dir, j.Loaded, ignition.BootstrapKubeconfigPath)
	}
	if err != nil {
		return err
	}
	if err := (joinstate.AdoptionRecord{Kept: adoption.Kept}).Save(j.Run.Dir); err != nil {
		return err
	}
	if err := trackConfigs(ctx, l, j.Plan.LoadedConfigs); err != nil {
		return err
	}
	if err := machine.RecordAdoptedDirs(ctx, l, j.Host.Tree); err != nil {
		return err
	}
	record := func(names ...string) error {
		for _, step := range names {
			if err := l.RecordMade(step, adoption.Made[step]); err != nil {
				return err
			}
			if err := l.RecordPresent(ctx, step, adoption.Present[step]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := record(steps.Files, steps.System); err != nil {
		return err
	}
	// A leave recognizes what the network plugin has created. A host without a cluster has none of it.
	plugin := ledger.PlannedChange{Change: networkplugin.NewChange(), Now: ledger.State{Present: true}}
	if err := l.RecordSnapshots(steps.Network, []ledger.PlannedChange{plugin}); err != nil {
		return err
	}
	return record(steps.Runtime, steps.Kubelet)
}

// finishAdoption writes the state of a finished join.
func finishAdoption(records joinRecord) error {
	state := &records.run.State
	for _, step := range Steps() {
		state.Complete(step.Name, "")
	}
	state.Registered = true
	if err := records.complete(); err != nil {
		return err
	}
	return joinstate.FinishAdoption(records.run.Dir)
}

func adoptedText(nodeName string, differences int) string {
	text := nodeName + " is recorded as joined, and was not changed"
	switch differences {
	case 0:
		return text
	case 1:
		return text + "; 1 object differs from the payload, and hcp-node-agent join applies it"
	}
	return fmt.Sprintf("%s; %d objects differ from the payload, and hcp-node-agent join applies them", text, differences)
}
