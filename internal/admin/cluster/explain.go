// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Request describes a request for messages.
type Request struct {
	Verb        string // get, list, create, update, delete or apply
	Group, Kind string
	Namespace   string // "" for none
	Name        string // "" for a list
	Subresource string // "" for none
}

// progressive maps verbs to the form in messages.
var progressive = map[string]string{
	"get": "getting", "list": "listing", "create": "creating", "update": "updating", "delete": "deleting",
	"apply": "applying",
}

// plainName matches names that can be printed unquoted. Any user can choose nearly any text as the name of a CSR.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// String returns the request in words, such as "getting Secret clusters/token-1".
func (r Request) String() string {
	text := progressive[r.Verb] + " "
	if r.Subresource != "" {
		text += "the " + r.Subresource + " of "
	}
	name := r.Name
	if !plainName.MatchString(name) {
		name = strconv.Quote(report.Shorten(name, 253))
	}
	switch {
	case r.Name == "" && r.Namespace == "":
		return text + r.Kind + "s"
	case r.Name == "":
		return text + r.Kind + "s in namespace " + r.Namespace
	case r.Namespace == "":
		return text + r.Kind + " " + name
	}
	return text + r.Kind + " " + r.Namespace + "/" + name
}

// Explain returns the error of a request with what failed, its exit code and a remedy, nil if err is nil. It does not
// change an error that was explained before.
func (c *Cluster) Explain(ctx context.Context, err error, r Request) error {
	var known *report.Failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	doing := fmt.Sprintf("%s on the %s cluster %s", r, c.Place, c.Server)
	var status apierrors.APIStatus
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return report.Fail(report.Interrupted, "", "%s: interrupted: %w", doing, err)
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err):
		return c.notServed(ctx, r)
	case !errors.As(err, &status):
		return c.endpoint.Explain(ctx, err).Failure(doing)
	case apierrors.IsUnauthorized(err):
		return report.Fail(report.CredentialRefused, c.loginRemedy(),
			"%s: the credential of the kubeconfig is rejected (HTTP 401)", doing)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return report.Fail(report.Failed, "# run the same command again when the namespace is deleted", "%s: %w", doing, err)
	case apierrors.IsForbidden(err):
		return report.Fail(report.CredentialRefused, c.grantRemedy(err), "%s: no permission: %w", doing, err)
	case apierrors.IsInvalid(err):
		return report.UsageError("%s: %w", doing, err)
	case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return report.Fail(report.Failed, "", "%s: %w", doing, err)
	}
	return report.Fail(report.Failed, report.Remedyf("oc --kubeconfig %s.kubeconfig get --raw /readyz # prints whether "+
		"the API server is ready", c.Place), "%s: %w", doing, err)
}

// notServed returns the error for a kind that the cluster does not serve. It is no NotFound error.
func (c *Cluster) notServed(ctx context.Context, r Request) error {
	resource := strings.ToLower(r.Kind) + "s." + r.Group
	switch {
	case c.Place == Hosted && r.Group == v1alpha1.GroupVersion.Group:
		if err := c.CheckHosted(ctx, ""); err != nil {
			return err
		}
		return c.withoutAPI(resource)
	case c.Place == Management && r.Group == hyperShiftGroup:
		return report.Fail(report.Refused,
			"oc --kubeconfig management.kubeconfig config get-contexts # select the management cluster with "+
				"--context or --kubeconfig",
			"%s is not a management cluster: it does not serve %s; the kubeconfig may be that of the hosted cluster",
			c.Server, resource)
	}
	return report.Fail(report.Refused, report.Remedyf("oc --kubeconfig %s.kubeconfig api-resources", c.Place),
		"%s does not serve %s", c.Server, resource)
}

// withoutAPI returns the error for a hosted cluster without a part of the API of NodeEnrollments.
func (c *Cluster) withoutAPI(missing string) error {
	return report.Fail(report.Refused, "# select the hosted cluster with --context or --kubeconfig, or install the "+
		"API there:\noc --kubeconfig hosted.kubeconfig apply -k deploy/hosted-base",
		"%s does not serve %s: the API of NodeEnrollments is not installed, or it is not the hosted cluster",
		c.Server, missing)
}

func (c *Cluster) loginRemedy() report.Remedy {
	if c.Place == Management {
		return "# log in to the management cluster again, for example with oc login"
	}
	return "# log in to the hosted cluster again, for example with oc login, or get a current kubeconfig:\n" +
		kube.AdminKubeconfigCommand
}

// missingRight matches the text of the API server about a right that the user does not have.
var missingRight = regexp.MustCompile(
	`User "([^"]+)" cannot (\w+) resource "([a-z]+)" in API group "([a-z0-9.-]*)"(?: in the namespace "([a-z0-9-]+)")?`)

// isHost reports whether a user is a node, a host that becomes one, or unknown.
func isHost(user string) bool {
	return strings.HasPrefix(user, "system:node:") || strings.HasPrefix(user, "system:bootstrap:") ||
		user == "system:anonymous" || strings.HasSuffix(user, ":node-bootstrapper")
}

// administratorRemedy returns the remedy for a right that is granted only to administrators.
func (c *Cluster) administratorRemedy() report.Remedy {
	if c.Place == Management {
		return "# use the kubeconfig of an administrator of the management cluster"
	}
	return "# use the kubeconfig of an administrator of the hosted cluster:\n" + kube.AdminKubeconfigCommand
}

// grantRemedy returns the commands that grant the right that a request lacks to its user. It suggests no right for a
// host, and no right for a subresource: the right to approve a CSR is the right to become any node.
func (c *Cluster) grantRemedy(err error) report.Remedy {
	right := missingRight.FindStringSubmatch(err.Error())
	if right != nil && isHost(right[1]) {
		right = nil
	}
	if right == nil {
		return c.administratorRemedy()
	}
	user, verb, namespace := report.ShellWord(right[1]), right[2], right[5]
	role, resource := "hcp-node-"+verb+"-"+right[3], right[3]
	switch right[4] {
	case "":
	case hyperShiftGroup: // a NodePool is read together with its HostedCluster
		resource = "nodepools." + hyperShiftGroup + ",hostedclusters." + hyperShiftGroup
	default:
		resource += "." + right[4]
	}
	if namespace == "" {
		return report.Remedyf("# an administrator of the %[1]s cluster grants the permission:\n"+
			"oc --kubeconfig %[1]s.kubeconfig create clusterrole %[2]s --verb=%[3]s --resource=%[4]s\n"+
			"oc --kubeconfig %[1]s.kubeconfig create clusterrolebinding %[2]s --clusterrole=%[2]s --user=%[5]s",
			c.Place, role, verb, resource, user)
	}
	return report.Remedyf("# an administrator of the %[1]s cluster grants the permission:\n"+
		"oc --kubeconfig %[1]s.kubeconfig -n %[6]s create role %[2]s --verb=%[3]s --resource=%[4]s\n"+
		"oc --kubeconfig %[1]s.kubeconfig -n %[6]s create rolebinding %[2]s --role=%[2]s --user=%[5]s",
		c.Place, role, verb, resource, user, namespace)
}
