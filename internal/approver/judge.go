package approver

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// judged is a CSR and the decision on it.
type judged struct {
	csr      *certificatesv1.CertificateSigningRequest
	decision Decision
}

// judge decides on a batch of CSRs. It records the tokens of the approved CSRs as used in one
// write, and then approves them. If an approver stops between the two, the next approver finds a
// record with the same key and approves the CSR.
func (a *Approver) judge(ctx context.Context, batch []*certificatesv1.CertificateSigningRequest) error {
	look := &lookout{connection: a.connection}
	for {
		all, was, fresh, err := a.decide(ctx, batch, look)
		if err != nil {
			return err
		}
		if len(fresh) > 0 {
			limited, cancel := bounded(ctx)
			err := a.bindings.add(limited, was, fresh)
			cancel()
			if apierrors.IsConflict(err) {
				pause(ctx, time.Duration(10+rand.IntN(40))*time.Millisecond) //nolint:gosec // two approvers shall not stay in step; nothing secret
				continue                                                     // another approver has changed the ConfigMap
			}
			if err != nil {
				return err
			}
		}
		return a.carryOut(ctx, all)
	}
}

// decide decides on each CSR of the batch. fresh are the tokens to record as used.
func (a *Approver) decide(ctx context.Context, batch []*certificatesv1.CertificateSigningRequest, look *lookout) (all []judged, was bound, fresh map[string]string, err error) {
	facts := Facts{Now: time.Now(), Authorities: a.authorities}
	fresh = map[string]string{}
	for _, csr := range batch {
		if answered(csr) {
			a.told.forget(csr.UID)
			continue
		}
		if was.keys == nil && touches(csr, a.claims) {
			limited, cancel := bounded(ctx)
			was, err = a.bindings.read(limited)
			cancel()
			if err != nil {
				return nil, was, nil, err
			}
			facts.Bound = maps.Clone(was.keys)
		}
		facts.Full = len(facts.Bound) >= mostBindings
		d := Decide(csr, a.claims, facts)
		if d.Verdict == Approve {
			with, err := look.at(ctx, csr, d.Node, facts)
			if err != nil {
				return nil, was, nil, err
			}
			d = Decide(csr, a.claims, with)
		}
		if d.Verdict == Approve && facts.Bound[d.Claim.ID] == "" {
			fresh[d.Claim.ID], facts.Bound[d.Claim.ID] = d.Key, d.Key
		}
		all = append(all, judged{csr, d})
	}
	return all, was, fresh, nil
}

// carryOut approves the CSRs that Decide approved, and reports the others. It processes them in
// random order, so that two concurrent approvers rarely conflict. An approval that the API server
// rejects, for example because of an admission policy, does not stop the others.
func (a *Approver) carryOut(ctx context.Context, all []judged) error {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, one := range all {
		if one.decision.Verdict != Approve {
			a.unsettled = a.unsettled || len(a.claims.byNode[one.decision.Node]) > 0
			a.tellOf(one.csr, one.decision)
			continue
		}
		message := fmt.Sprintf("hcp-node-agent approve: ticket %s of %s, key %s", one.decision.Claim.ID, one.decision.Node, one.decision.Key)
		limited, cancel := bounded(ctx)
		err := setApproved(limited, a.client, one.csr, message)
		cancel()
		a.tally.tried++
		switch {
		case apierrors.IsConflict(err):
			a.crossed = true // the next resync reads the change
		case apierrors.IsNotFound(err): // deleted, or removed by garbage collection
		case err != nil && gone(err):
			return fmt.Errorf("approving the CSR %s: %w", DisplayName(one.csr.Name), err)
		case err != nil:
			a.unsettled = true
			a.tally.failed = append(a.tally.failed, fmt.Errorf("approving the CSR %s: %w", DisplayName(one.csr.Name), err))
			a.tellFailed(one.csr, one.decision, err)
		default:
			a.approved++
			a.told.forget(one.csr.UID)
			a.tellOf(one.csr, one.decision)
		}
	}
	return nil
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
