// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// decidedCSR is a CSR and the decision on it.
type decidedCSR struct {
	csr      *kube.CSR
	decision Decision
}

// process decides on a batch of CSRs. It records the tokens of the approved CSRs as used in one
// write, and then approves them. If an approver stops between the two, the next approver finds a
// record with the same key and approves the CSR.
func (a *Approver) process(ctx context.Context, batch []*kube.CSR) error {
	get := &clusterFacts{connection: a.connection}
	for {
		all, was, fresh, err := a.decideBatch(ctx, batch, get)
		if err != nil {
			return err
		}
		if len(fresh) > 0 {
			err := a.usage.add(ctx, was, fresh)
			if apierrors.IsConflict(err) {
				// Another approver has changed the ConfigMap. The jitter keeps the two from conflicting again.
				if err := wait.Sleep(ctx,
					time.Duration(10+rand.IntN(40))*time.Millisecond); err != nil { //nolint:gosec // no secret
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
		}
		return a.applyDecisions(ctx, all)
	}
}

// decideBatch decides on each CSR of the batch. fresh are the tokens to record as used.
func (a *Approver) decideBatch(
	ctx context.Context, batch []*kube.CSR, get *clusterFacts,
) (all []decidedCSR, was usageSnapshot, fresh map[string]string, err error) {
	facts := Facts{Now: time.Now(), CAHashes: a.caHashes}
	fresh = map[string]string{}
	for _, csr := range batch {
		if IsDecided(csr) {
			a.reported.forget(csr.UID)
			continue
		}
		if was.keys == nil && isRelevant(csr, a.enrollments) {
			if was, err = a.usage.read(ctx); err != nil {
				return nil, was, nil, err
			}
			facts.UsedKeys = maps.Clone(was.keys)
		}
		facts.UsageRecordsFull = len(facts.UsedKeys) >= maxUsageRecords
		with := facts
		d := Decide(csr, a.enrollments, with)
		if d.needsClientCAs {
			if with, err = get.addClientCAs(ctx, with); err != nil {
				return nil, was, nil, err
			}
			d = Decide(csr, a.enrollments, with)
		}
		if d.Outcome == Approved {
			if with, err = get.complete(ctx, csr, d.Node, with); err != nil {
				return nil, was, nil, err
			}
			d = Decide(csr, a.enrollments, with)
		}
		if d.Outcome == Approved && facts.UsedKeys[d.Enrollment.ID] == "" {
			fresh[d.Enrollment.ID], facts.UsedKeys[d.Enrollment.ID] = d.Key, d.Key
		}
		all = append(all, decidedCSR{csr, d})
	}
	return all, was, fresh, nil
}

// applyDecisions approves the CSRs that Decide approved, and reports the others. It processes them in
// random order, so that two concurrent approvers rarely conflict. An approval that the API server
// rejects, for example because of an admission policy, does not stop the others.
func (a *Approver) applyDecisions(ctx context.Context, all []decidedCSR) error {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, one := range all {
		d := one.decision
		if d.Outcome != Approved {
			a.needsResync = a.needsResync || len(a.enrollments.byNode[d.Node]) > 0
			a.emitDecision(one.csr, d)
			continue
		}
		message := fmt.Sprintf("hcp-node-admin approve: join token %s of %s, key %s", d.Enrollment.ID, d.Node, d.Key)
		if d.Reason != "" {
			message += "; " + d.Reason
		}
		err := updateApproval(ctx, a.client, one.csr, message)
		a.stats.attempted++
		switch {
		case apierrors.IsConflict(err):
			a.hasConflict = true // the next resync reads the change
		case apierrors.IsNotFound(err): // deleted, or removed by garbage collection
		case err != nil && affectsAllCSRs(err):
			return fmt.Errorf("approving CSR %s: %w", DisplayName(one.csr.Name), err)
		case err != nil:
			a.needsResync = true
			failure := fmt.Errorf("approving CSR %s: %w", DisplayName(one.csr.Name), err)
			a.stats.failures = append(a.stats.failures, failure)
			a.emitApprovalFailure(one.csr, d, err)
		default:
			a.approvedCount++
			a.reported.forget(one.csr.UID)
			a.emitDecision(one.csr, d)
		}
	}
	return nil
}
