// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// findings collects findings.
type findings []report.Finding

func (f *findings) add(severity report.Severity, check, message string, remedy report.Remedy) {
	*f = append(*f, report.Finding{
		Severity:    severity,
		Check:       check,
		Message:     message,
		Remedy:      remedy,
		RefusesJoin: severity == report.SeverityProblem,
	})
}

// addUnlessTrue adds a problem if a condition has another status than True. A condition that HyperShift has not set
// yet is no problem: without it, there is no user data either. HyperShift leaves the status of a failed
// ValidGeneratedPayload empty.
func (f *findings) addUnlessTrue(
	conditions []metav1.Condition, name, check, meaning string, remedy report.Remedy,
) {
	condition := meta.FindStatusCondition(conditions, name)
	if condition == nil || condition.Status == metav1.ConditionTrue {
		return
	}
	cause := condition.Message
	if condition.Reason != "" {
		cause = strings.TrimSuffix(condition.Reason+": "+cause, ": ")
	}
	f.add(report.SeverityProblem, check, fmt.Sprintf("%s (%s is not True): %s", meaning, name, cause), remedy)
}

// Evaluate returns the findings about a NodePool at a time. A problem means that a host cannot join with its user data.
func (f *Facts) Evaluate(now time.Time) []report.Finding {
	all := f.evaluateObjects()
	if len(all) > 0 {
		return all
	}
	f.checkHostedCluster(&all)
	f.checkConditions(&all)
	f.checkSkew(&all)
	f.checkUserData(&all, now)
	f.addNotes(&all)
	return all
}

// CheckEnrollable returns the failure for a NodePool that hosts can never join, whatever its user data is.
func (f *Facts) CheckEnrollable() error {
	return f.refuse(f.evaluateObjects())
}

// refuse returns the failure for the problems among findings, nil if there are none.
func (f *Facts) refuse(all []report.Finding) error {
	if refusal := report.Refusal(all); refusal != nil {
		return report.Fail(report.CodeOf(refusal), report.RemedyOf(refusal), "%s: %w", f, refusal)
	}
	return nil
}

// Check returns the findings of Evaluate. With withEndpoint, it also requests the payload, unless one of them is a
// problem. It fails if a host cannot join with the user data.
func (f *Facts) Check(ctx context.Context, now time.Time, withEndpoint bool) ([]report.Finding, error) {
	all := f.Evaluate(now)
	err := f.refuse(all)
	if err == nil && withEndpoint {
		all = append(all, f.checkEndpoint(ctx))
		err = f.refuse(all)
	}
	return all, err
}

// evaluateObjects returns the problem of a NodePool that hosts can never join.
func (f *Facts) evaluateObjects() findings {
	var all findings
	pool := &f.NodePool
	listPools := report.Remedyf("oc -n %s get nodepools -o custom-columns=NAME:.metadata.name,"+
		"PLATFORM:.spec.platform.type,DELETED:.metadata.deletionTimestamp", pool.Namespace)
	switch platform := pool.Spec.Platform.Type; {
	case pool.DeletionTimestamp != nil:
		all.add(report.SeverityProblem, "deletion", "the NodePool is being deleted: HyperShift revokes its token", listPools)
	case platform != PlatformNone:
		all.add(report.SeverityProblem, "platform", fmt.Sprintf("the platform is %s: HyperShift itself creates the nodes. "+
			"Only hosts of platform None join with user data", platform), listPools)
	case f.HostedCluster == nil:
		all.add(report.SeverityProblem, "hosted-cluster", fmt.Sprintf("HostedCluster %s of the NodePool does not exist",
			pool.Spec.ClusterName), report.Remedyf("oc -n %s get hostedclusters", pool.Namespace))
	}
	return all
}

func (f *Facts) checkHostedCluster(all *findings) {
	cluster, namespace := f.HostedCluster, f.controlPlaneNamespace()
	if cluster.DeletionTimestamp != nil {
		all.add(report.SeverityProblem, "hosted-cluster", "HostedCluster "+cluster.Name+" is being deleted",
			report.Remedyf("oc -n %s get hostedclusters", cluster.Namespace))
		return
	}
	all.addUnlessTrue(cluster.Status.Conditions, "Available", "hosted-cluster",
		"the hosted control plane is not available", report.Remedyf(`oc -n %s get hostedcluster %s `+
			`-o jsonpath='{range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}'`,
			cluster.Namespace, cluster.Name))
	if _, disabled := cluster.Annotations[disableIgnitionAnnotation]; disabled {
		all.add(report.SeverityProblem, "ignition-server", "the HostedCluster has no ignition server: it is disabled by an "+
			"annotation", report.Remedyf("oc -n %s annotate hostedcluster %s %s-", cluster.Namespace, cluster.Name,
			disableIgnitionAnnotation))
		return
	}
	server := report.Remedyf("oc -n %s get pods,services | grep ignition-server", namespace)
	if cluster.Status.IgnitionEndpoint == "" {
		all.add(report.SeverityProblem, "ignition-server", noEndpoint(cluster.ignitionStrategy()), server)
	}
	all.addUnlessTrue(cluster.Status.Conditions, "IgnitionEndpointAvailable", "ignition-server",
		"the ignition server is not available", server)
}

// noEndpoint returns why a HostedCluster has no ignition endpoint.
func noEndpoint(strategy string) string {
	const message = "the HostedCluster has no ignition endpoint: "
	switch strategy {
	case "Route":
		return message + "its Route ignition-server-proxy has no host yet"
	case "NodePort":
		return message + "its Service ignition-server-proxy has no node port yet"
	case "":
		return message + "spec.services does not publish the service Ignition"
	}
	return message + "spec.services publishes the service Ignition as " + strategy +
		", but only Route and NodePort are supported"
}

func (f *Facts) checkConditions(all *findings) {
	pool := &f.NodePool
	require := func(name, check, meaning string, remedy report.Remedy) {
		all.addUnlessTrue(pool.Status.Conditions, name, check, meaning, remedy)
	}
	if updating := f.HostedCluster.updating(); updating != "" {
		require("ValidReleaseImage", "release-image", "the control plane is still updated to "+updating+", before which "+
			"HyperShift accepts no newer release of the NodePool", f.updateRemedy())
	} else {
		require("ValidReleaseImage", "release-image", "the release image is not valid", f.releaseRemedy())
	}
	require("ValidArchPlatform", "architecture", "the architecture of the NodePool is not that of the payload of the "+
		"HostedCluster", report.Remedyf("# create a NodePool with an architecture that the release image of the "+
		"HostedCluster contains, or use a multi-architecture release image:\n"+
		"oc -n %[1]s get nodepool %[2]s -o jsonpath='{.spec.arch}{\"\\n\"}'\n"+
		"oc -n %[1]s get hostedcluster %[3]s -o jsonpath='{.status.payloadArch}{\"\\n\"}'", pool.Namespace, pool.Name,
		pool.Spec.ClusterName))
	require("ValidMachineConfig", "machine-config", "the configuration is not valid", report.Remedyf(
		"oc -n %s get nodepool %s -o jsonpath='{.spec.config[*].name}' # prints the ConfigMaps to correct",
		pool.Namespace, pool.Name))
	if !f.isPausedBeforeChange() {
		require("ValidGeneratedPayload", "payload", "the payload is not generated", f.logsRemedy())
	}
	if f.HostedCluster.Status.IgnitionEndpoint != "" {
		require("IgnitionEndpointAvailable", "ignition-server", "the NodePool has no ignition server", f.logsRemedy())
	}
}

// isPausedBeforeChange reports whether the NodePool is paused, and its configuration has changed since. HyperShift then
// reports the payload of the new configuration as missing, and still serves that of the former one.
func (f *Facts) isPausedBeforeChange() bool {
	generated := meta.FindStatusCondition(f.NodePool.Status.Conditions, "ValidGeneratedPayload")
	return f.Paused() != "" && generated != nil && generated.Reason == "NotFound"
}

// updateRemedy returns the command that prints the progress of the update of the control plane.
func (f *Facts) updateRemedy() report.Remedy {
	return report.Remedyf("# wait until the newest entry is Completed, and run this command again; setting a release "+
		"image does not help before:\noc -n %s get hostedcluster %s "+
		`-o jsonpath='{range .status.version.history[*]}{.version}={.state}{"\n"}{end}'`,
		f.NodePool.Namespace, f.NodePool.Spec.ClusterName)
}

func (f *Facts) releaseRemedy() report.Remedy {
	return report.Remedyf("# set spec.release.image of the NodePool, usually to that of the HostedCluster:\n"+
		"oc -n %s get hostedcluster %s -o jsonpath='{.spec.release.image}'",
		f.NodePool.Namespace, f.NodePool.Spec.ClusterName)
}

func (f *Facts) logsRemedy() report.Remedy {
	return report.Remedyf("# find the cause, and run this command again later:\n"+
		"oc -n %s logs deployment/ignition-server --tail=20", f.controlPlaneNamespace())
}

// Paused returns the message of HyperShift if the NodePool is paused, else "".
func (f *Facts) Paused() string {
	active := meta.FindStatusCondition(f.NodePool.Status.Conditions, "ReconciliationActive")
	if active == nil || active.Status == metav1.ConditionTrue {
		return ""
	}
	return active.Message
}

// resumeRemedy returns the commands that make HyperShift write current user data.
func (f *Facts) resumeRemedy() report.Remedy {
	pool := &f.NodePool
	if f.Paused() != "" {
		return report.Remedyf(`oc -n %s patch nodepool %s --type=merge -p '{"spec":{"pausedUntil":null}}'`,
			pool.Namespace, pool.Name)
	}
	return report.Remedyf("# wait a minute, and run this command again; if nothing has changed, see the conditions:\n"+
		`oc -n %s get nodepool %s -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}'`,
		pool.Namespace, pool.Name)
}

// checkUserData checks the user data and its token, unless earlier problems are the reason for missing user data.
func (f *Facts) checkUserData(all *findings, now time.Time) {
	problem := func(check, message string, remedy report.Remedy) {
		all.add(report.SeverityProblem, check, message, remedy)
	}
	name := f.secretName("user-data")
	switch {
	case len(f.UserData) == 0 && report.Refusal(*all) != nil:
		return
	case len(f.UserData) == 0 && f.HostedCluster.Status.Kubeconfig == nil:
		problem("user-data", "HyperShift creates no user data before the HostedCluster has a kubeconfig: "+
			"status.kubeconfig of HostedCluster "+f.HostedCluster.Name+" is not set", report.Remedyf(
			"# its API server is not ready, or is not published:\noc -n %s get pods -l app=kube-apiserver\n"+
				`oc -n %s get hostedcluster %s -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}'`,
			f.controlPlaneNamespace(), f.HostedCluster.Namespace, f.HostedCluster.Name))
		return
	case name == "":
		problem("user-data", "HyperShift has not created the user data yet", f.resumeRemedy())
		return
	case len(f.UserData) == 0:
		problem("user-data", fmt.Sprintf("Secret %s does not exist in namespace %s: HyperShift has not created the user "+
			"data of the current configuration yet", name, f.controlPlaneNamespace()), f.resumeRemedy())
		return
	}
	userData, err := ignition.ParseUserData(f.UserData)
	if err != nil {
		problem("user-data", fmt.Sprintf("Secret %s in namespace %s: %v", name, f.controlPlaneNamespace(), err),
			f.resumeRemedy())
		return
	}
	f.userData = userData
	switch {
	case f.Token == nil:
		problem("token", fmt.Sprintf("the token is revoked: Secret %s does not exist in namespace %s",
			f.secretName("token"), f.controlPlaneNamespace()), f.resumeRemedy())
	case !f.hasToken("token") && !f.hasToken("old_token"):
		problem("token", "the token of the user data is no longer valid: the ignition server has replaced it, and "+
			"HyperShift has not written new user data", f.resumeRemedy())
	case !f.Expires().IsZero() && f.Expires().Before(now):
		problem("token", "the token of the user data expired at "+report.Timestamp(f.Expires()), f.logsRemedy())
	case !f.hasToken("token"):
		all.add(report.SeverityWarning, "token", "the ignition server has replaced the token of the user data, and "+
			"accepts it only until "+report.Timestamp(f.Expires()), f.resumeRemedy())
	}
}

// addNotes adds findings that do not prevent a join.
func (f *Facts) addNotes(all *findings) {
	pool := &f.NodePool
	if message := f.Paused(); message != "" {
		if f.isPausedBeforeChange() {
			message += "; the user data is that of the former configuration, because the NodePool was changed after it was " +
				"paused"
		}
		all.add(report.SeverityWarning, "paused", "HyperShift does not update the user data: "+message, f.resumeRemedy())
	}
	reached := meta.FindStatusCondition(pool.Status.Conditions, "ReachedIgnitionEndpoint")
	if reached != nil && reached.Reason == "ignitionNotReached" {
		all.add(report.SeverityNote, "reached", "ReachedIgnitionEndpoint is False, as usual before the first host has "+
			"joined", "")
	}
	if stream := pool.describeStream(); stream != "" {
		all.add(report.SeverityNote, "stream", stream, "")
	}
	if ignored := pool.ignoredSettings(); len(ignored) > 0 {
		all.add(report.SeverityNote, "ignored-settings", "no effect on platform None: "+strings.Join(ignored, ", "), "")
	}
}
