// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// enrollmentResource is the resource of NodeEnrollments.
const enrollmentResource = "nodeenrollments.hcp-node-agent.io"

// permission is a right on the hosted cluster that a command uses.
type permission struct {
	verbs     string // separated by commas
	resource  string // with its group
	namespace string // "" for the whole cluster
	purpose   string // "" if the command always needs it
}

// leasePermission returns the right with which it is checked whether a controller runs.
func leasePermission() permission {
	return permission{
		verbs: "get", resource: "leases.coordination.k8s.io", namespace: v1alpha1.Namespace, purpose: "optional",
	}
}

// rightsOf returns permissions as rights.
func rightsOf(permissions []permission) []cluster.Right {
	var rights []cluster.Right
	for _, p := range permissions {
		for verb := range strings.SplitSeq(p.verbs, ",") {
			rights = append(rights, cluster.Right{
				Verb: verb, Resource: schema.ParseGroupResource(p.resource), Namespace: p.namespace,
			})
		}
	}
	return rights
}

// listPermission returns rights on the list of lost nodes.
func listPermission(verbs, purpose string) permission {
	return permission{verbs: verbs, resource: "configmaps", namespace: v1alpha1.Namespace, purpose: purpose}
}

// describePermissions returns the section of a command's help about the rights that it uses.
func describePermissions(permissions []permission) string {
	var text strings.Builder
	text.WriteString("\n\nRequired permissions on the hosted cluster:\n")
	for _, p := range permissions {
		right := strings.ReplaceAll(p.verbs, ",", ", ") + " " + p.resource
		if p.namespace != "" {
			right += " in namespace " + p.namespace
		}
		if p.purpose != "" {
			right = fmt.Sprintf("%-46s %s", right, p.purpose)
		}
		text.WriteString("\n    " + right)
	}
	text.WriteString("\n\nWith --namespace or --hosted-cluster, also on the management cluster, in the\n" +
		"namespace of the HostedCluster:\n\n" +
		"    get secrets, hostedclusters.hypershift.openshift.io\n" +
		"    list hostedclusters.hypershift.openshift.io    without --hosted-cluster")
	return text.String()
}
