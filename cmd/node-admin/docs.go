// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// docs returns the parts of the documentation that are not generated from the commands.
func docs() cli.Docs {
	return cli.Docs{
		ManSections: []cli.Section{
			{
				Title: "Environment", Columns: []string{"variable", "meaning"},
				Rows: append([][]string{{"KUBECONFIG", "kubeconfig files, if --kubeconfig is not given"}},
					cli.OutputVariables()...),
			},
			{
				Title: "Files", Columns: []string{"file", "content"},
				Rows: [][]string{
					{"~/.kube/config", "kubeconfig, if neither --kubeconfig nor KUBECONFIG is given"},
					{"user-data.ign", "user data of a NodePool, which is a secret"},
					{"NAME.token", "join token of a node, which is a secret"},
					{"NAME.yaml", "manifest of a NodeEnrollment, which is public"},
					{"/usr/share/doc/hcp-node-admin/deploy", "manifests of the controller"},
				},
			},
		},
		SeeAlso: []string{"oc(1)", "kubectl(1)", "oc-hcp-node(1)", "hcp-node-agent(8)"},
		Pages:   []cli.ManPage{pluginPage()},
		Schemas: schemas(),
	}
}

// schemas returns the schemas of all documents and of the settings of a site, by file name.
func schemas() map[string]schema.Schema {
	all := cli.Schemas(documentKinds())
	file := cli.DocumentKind{Kind: site.Kind, Title: "The file of " + programName + " site apply", Document: site.Config{}}
	all[site.Kind+".json"] = schema.Closed(file.Schema())
	return all
}

// pluginPage returns the man page of the plugin of oc.
func pluginPage() cli.ManPage {
	return cli.ManPage{
		Name: "oc-hcp-node", Number: "1", Summary: "Enroll nodes in a Hosted Control Plane cluster",
		Sections: []cli.Section{
			{Title: "Synopsis", Text: "oc hcp-node COMMAND [OPTION]...\n\nkubectl hcp-node COMMAND [OPTION]..."},
			{Title: "Description", Text: "hcp-node-admin is a plugin of oc and kubectl: both run kubectl-hcp_node for this " +
				"command, with the same arguments. hcp-node-admin(8) describes the commands and options. The cluster is that " +
				"of --kubeconfig and --context, else of the environment variable KUBECONFIG, else of ~/.kube/config."},
			{Title: "Files", Rows: [][]string{
				{"/usr/bin/kubectl-hcp_node", "the plugin: a link to hcp-node-admin"},
				{"/usr/bin/oc_complete-hcp_node, /usr/bin/kubectl_complete-hcp_node", "complete its command lines"},
			}},
			{Title: "Examples", Text: "    oc hcp-node user-data workers --namespace clusters\n" +
				"    oc hcp-node enroll -n clusters workers worker-7.example.com=192.0.2.7\n" +
				"    oc hcp-node approve worker-7.example.com"},
		},
		SeeAlso: []string{"oc(1)", "kubectl(1)", "hcp-node-admin(8)"},
	}
}

// documentKinds returns all kinds of documents.
func documentKinds() []cli.DocumentKind {
	return append(cli.CommonDocuments(),
		cli.NewDocumentKind(programName, "UserDataResult", "user-data", userDataDocument{}),
		cli.NewDocumentKind(programName, "SiteResult", "site apply", siteDocument{}),
		cli.NewDocumentKind(programName, "EnrollResult", "enroll", enrollDocument{}),
		cli.NewDocumentKind(programName, "ControllerInstallResult", "controller install", controllerDocument{}),
		cli.NewDocumentKind(programName, "ControllerStatus", "controller status", controllerStatusDocument{}),
		cli.NewDocumentKind(programName, "ControllerUninstallResult", "controller uninstall", controllerDocument{}),
		cli.NewDocumentKind(programName, "JoinTokenSummary", "token show", tokenDocument{}),
		cli.NewDocumentKind(programName, "NodeDescription", "describe", descriptionDocument{}),
		cli.NewDocumentKind(programName, "RevokeResult", "token revoke", revokeDocument{}),
		cli.NewDocumentKind(programName, "RemoveResult", "remove", removeDocument{}),
		cli.NewDocumentKind(programName, "FoundResult", "found", foundDocument{}),
		cli.NewDocumentKind(programName, "CSRReview", "approve", reviewDocument{}),
	)
}
