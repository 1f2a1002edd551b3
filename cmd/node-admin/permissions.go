// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// permission is a right on the hosted cluster that a command uses.
type permission struct {
	verbs     string // separated by commas
	resource  string // with its group
	namespace string // "" for the whole cluster
	purpose   string // "" if the command always needs it
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
