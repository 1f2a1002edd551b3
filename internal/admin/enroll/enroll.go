// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// run is one run of Enroll.
type run struct {
	Cluster

	options Options
	found   content
	result  *Result
}

// Enroll enrolls nodes. Existing enrollments and files are kept, and what an interrupted run has not created is added.
// After an error, the result contains the nodes that were enrolled.
func (c Cluster) Enroll(ctx context.Context, options Options) (Result, error) {
	result := Result{Server: c.Server, Findings: options.Input.missing()}
	found, err := c.read(ctx, options)
	if err != nil {
		return result, err
	}
	r := &run{Cluster: c, options: options, found: found, result: &result}
	var conflicts []report.Problem
	for _, node := range options.Nodes {
		if _, isLost := found.lost[node.Name]; isLost {
			conflicts = append(conflicts, report.Problem{
				Message: "node " + node.Name + " was removed as lost", Remedy: approver.FoundRemedy(node.Name),
			})
			continue
		}
		enrolled, err := r.enroll(ctx, node)
		if enrolled.NodeName != "" {
			result.Enrolled = append(result.Enrolled, enrolled)
		}
		switch {
		case errors.Is(err, errConflict):
			conflicts = append(conflicts, report.Problem{Message: err.Error(), Remedy: report.RemedyOf(err)})
		case err != nil:
			return result, err
		}
	}
	if err := errors.Join(options.writeForAll(&result), options.writeInventory(&result)); err != nil {
		return result, err
	}
	return result, report.FailWith(report.Refused, conflicts)
}

// errConflict is wrapped by errors for nodes whose files do not belong to their NodeEnrollments. Other nodes can be
// enrolled nevertheless.
var errConflict = errors.New("its join token is not that of a NodeEnrollment")

// enroll enrolls one node. The order makes sure that an interrupted run loses no key, and that a repeated run continues
// with the first step that is missing:
//
//  1. The join token is written to a file with pendingSuffix. Its key is nowhere else.
//  2. The NodeEnrollment is created, with the key of the file. From now on the host can join.
//  3. The ServiceAccount is created. The NodeEnrollment owns it, so that both are deleted together.
//  4. A token of the ServiceAccount is requested, and the file is replaced by one that contains it too.
//  5. The file gets its final name. A join token of that name without a NodeEnrollment was revoked: a repeated run must
//     not admit its host again.
//  6. The file for the first boot of the host is written, which contains the join token.
func (r *run) enroll(ctx context.Context, node Node) (Enrolled, error) {
	now := time.Now()
	object := r.found.enrollments[node.Name]
	file, err := r.readToken(node)
	switch {
	case err != nil:
		return Enrolled{}, err
	case file == nil && object != nil:
		return r.keepObject(node, object), nil
	}
	enrolled := Enrolled{State: Existing}
	if file == nil {
		enrolled.State = Created
		if file, err = r.createToken(node, now); err != nil {
			return enrolled, err
		}
	}
	object, err = r.finish(ctx, file, object, node, &enrolled)
	enrolled.Summary = file.token.Summarize(now)
	enrolled.TokenFile = file.name()
	if err != nil {
		enrolled.State = Incomplete
		return enrolled, err
	}
	enrolled.Addresses = object.Spec.Addresses
	r.checkKept(node, object, enrolled)
	return enrolled, nil
}

// finish performs the steps of enroll after the first, and returns the NodeEnrollment.
func (r *run) finish(
	ctx context.Context, file *tokenFile, object *v1alpha1.NodeEnrollment, node Node, enrolled *Enrolled,
) (*v1alpha1.NodeEnrollment, error) {
	if object == nil {
		var err error
		if object, err = r.createObject(ctx, file, node); err != nil {
			return nil, err
		}
		enrolled.complete()
	}
	if err := r.checkSameToken(file.token, object); err != nil {
		return nil, err
	}
	if err := r.addCredential(ctx, file, object, enrolled); err != nil {
		return nil, err
	}
	if err := file.finish(); err != nil {
		return nil, err
	}
	return object, r.writeHostFile(file.token, enrolled)
}

// complete records that a missing part was added.
func (e *Enrolled) complete() {
	if e.State == Existing {
		e.State = Completed
	}
}

// createObject creates the NodeEnrollment of a join token, and returns it, or that which another run has created. It
// fails for a join token that was revoked or has expired.
func (r *run) createObject(ctx context.Context, file *tokenFile, node Node) (*v1alpha1.NodeEnrollment, error) {
	if !file.isPending {
		return nil, report.Fail(report.Refused, "# apply its manifest if it was created with --offline; to enroll the host "+
			"again:\n"+moveRemedy(file.path), "node %s: %w: it was revoked, or is not applied yet", node.Name, errConflict)
	}
	if err := file.token.CheckExpiry(time.Now()); err != nil {
		return nil, report.Fail(report.Refused, moveRemedy(file.name()), "%w", err)
	}
	object, err := file.token.Enrollment(r.options.tokenOptions(node, nil)).Object()
	if err != nil {
		return nil, err
	}
	err = r.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		err = r.Get(ctx, client.ObjectKeyFromObject(object), object)
	}
	return object, err
}

// checkSameToken fails if a NodeEnrollment is not that of the join token.
func (r *run) checkSameToken(token *enrollment.Token, object *v1alpha1.NodeEnrollment) error {
	if object.Spec.TokenID == token.ID {
		return nil
	}
	return report.Fail(report.Refused, replaceRemedy(r.options.Dir, token.NodeName), "node %s: %w: that of the cluster "+
		"is for join token %s, the file contains %s", token.NodeName, errConflict, object.Spec.TokenID, token.ID)
}

// keepObject describes a node whose file is not in the directory.
func (r *run) keepObject(node Node, object *v1alpha1.NodeEnrollment) Enrolled {
	enrolled := Enrolled{State: Existing, Summary: enrollment.Summary{
		Kind: enrollment.KindEnrollment, ID: object.Spec.TokenID, NodeName: node.Name, Expires: object.Spec.Expires.Time,
		Expired: !time.Now().Before(object.Spec.Expires.Time), Addresses: object.Spec.Addresses,
	}}
	if record, err := enrollment.FromObject(object); err == nil {
		enrolled.Summary = record.Summarize(time.Now())
	}
	if object.Spec.UsedBy == nil {
		path, _ := enrollment.Paths(r.options.Dir, node.Name)
		r.result.Findings = append(r.result.Findings, warning("token", fmt.Sprintf("NodeEnrollment %s exists, was not used "+
			"yet, and its join token is not in %s", node.Name, path), replaceRemedy(r.options.Dir, node.Name)))
	}
	return enrolled
}

// checkKept adds warnings for an existing enrollment that differs from what was requested, or cannot be used.
func (r *run) checkKept(node Node, object *v1alpha1.NodeEnrollment, enrolled Enrolled) {
	if enrolled.State == Created {
		return
	}
	wanted := enrollment.FormatAddresses(node.Addresses)
	if !sameAddresses(wanted, object.Spec.Addresses) {
		r.result.Findings = append(r.result.Findings, warning("address", fmt.Sprintf("the addresses of NodeEnrollment %s "+
			"are %v and were not changed to %v", node.Name, object.Spec.Addresses, wanted),
			report.Remedyf("oc --kubeconfig hosted.kubeconfig edit nodeenrollment %s", node.Name)))
	}
	// The clock of the API server sets the time of the creation, that of the administrator's host the expiry.
	const tolerance = 5 * time.Minute
	lifetime := object.Spec.Expires.Sub(object.CreationTimestamp.Time)
	if wanted := r.options.Lifetime; wanted != 0 && object.Spec.UsedBy == nil && (lifetime-wanted).Abs() > tolerance {
		r.result.Findings = append(r.result.Findings, warning("token", fmt.Sprintf("the join token of %s is valid until %s, "+
			"which was not changed by --expires", node.Name, report.Timestamp(object.Spec.Expires.Time)),
			replaceRemedy(r.options.Dir, node.Name)))
	}
	if !enrollment.HasSettings(object, r.options.Labels, r.options.Taints) {
		r.result.Findings = append(r.result.Findings, warning("settings", fmt.Sprintf("NodeEnrollment %s has other labels "+
			"or taints than requested, and was not changed", node.Name),
			report.Remedyf("oc --kubeconfig hosted.kubeconfig edit nodeenrollment %s", node.Name)))
	}
	if enrolled.Expired && object.Spec.UsedBy == nil {
		r.result.Findings = append(r.result.Findings, warning("token", fmt.Sprintf("the join token of %s has expired and "+
			"was not used", node.Name), replaceRemedy(r.options.Dir, node.Name)))
	}
}

// writeHostFile writes the file for the first boot of a host, unless it exists and the join token was not changed.
func (r *run) writeHostFile(token *enrollment.Token, enrolled *Enrolled) error {
	if r.options.Input.NeedsUserData() && token.UserData == nil && token.Cluster == nil {
		return report.Fail(report.Refused, replaceRemedy(r.options.Dir, token.NodeName),
			"the join token of %s contains no user data, which its host needs with --format %s", token.NodeName,
			r.options.Input.Format)
	}
	file, hasFile, err := r.options.Input.file(r.options.Dir, token, r.options.UserData, r.found.userData)
	if err != nil || !hasFile {
		return err
	}
	enrolled.HostFile = file.Path
	if _, err := os.Lstat(file.Path); err == nil && enrolled.State == Existing {
		return nil
	}
	enrolled.complete()
	return nodepool.WriteFile(file.Path, file.Content, true)
}

// replaceRemedy returns the commands that replace an enrollment.
func replaceRemedy(dir, node string) report.Remedy {
	path, _ := enrollment.Paths(dir, node)
	return report.Remedyf("# to replace the enrollment, run the same command again after:\n"+
		"hcp-node-admin token revoke %s\nrm -f %s", node, report.ShellWord(path))
}
