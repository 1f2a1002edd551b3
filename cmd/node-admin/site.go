// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type siteDocument struct {
	report.TypeMeta
	Server   string           `json:"server" doc:"URL of the hosted cluster"`
	Secret   string           `json:"secret" doc:"Secret with the settings, as NAMESPACE/NAME"`
	Changed  bool             `json:"changed" doc:"whether the settings differ from those that were stored"`
	Findings []report.Finding `json:"findings" doc:"what the hosts must already have, because no setting installs it"`
	report.CommandResult
}

func newSiteApplyCommand(p *cli.Printer) *cobra.Command {
	var flags clusterFlags
	var file string
	c := &cobra.Command{
		Use:         "apply -f FILE",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Store the settings that all hosts of a site need",
		Long: `Apply stores the settings of a site in the hosted cluster, in Secret site of
namespace hcp-node-admin. Each file that enroll writes with --format cloud-init,
kickstart, ansible or ignition then contains them: package repositories,
subscription, proxy, CAs, NTP servers and settings of the agent. Existing files
remain unchanged.

FILE is of kind SiteConfig, and is checked before anything is stored. An example
is examples/site.yaml. A file without settings is valid, for hosts whose images
contain everything. To print the stored settings, run:

    oc -n hcp-node-admin extract secret/site --to=-

Required permissions on the hosted cluster, namespace hcp-node-admin: get,
create and update secrets.`,
		Example: "  hcp-node-admin site apply -f site.yaml \\\n      -n clusters --hosted-cluster hosted",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 || file == "" {
				return errors.New("-f FILE is required, and no argument")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.Flags().StringVarP(&file, "filename", "f", "", "`FILE` with the settings; - for standard input")
	flags.add(c, p)
	c.RunE = func(c *cobra.Command, _ []string) error {
		settings, content, err := enroll.ReadSite("--filename", file, p.In)
		if err != nil {
			return err
		}
		hosted, err := enroll.Open(c.Context(), &flags.Clusters)
		if err != nil {
			return err
		}
		isChanged, err := hosted.StoreSite(c.Context(), content)
		if err != nil {
			return err
		}
		document := siteDocument{
			TypeMeta: report.Meta("SiteResult"), Server: hosted.Server,
			Secret: v1alpha1.Namespace + "/" + enroll.SiteSecret, Changed: isChanged, Findings: settings.Missing(),
			CommandResult: report.ResultOf(nil),
		}
		return p.Finish(nil, document, document.print)
	}
	return c
}

func (d siteDocument) print(w *report.Page) {
	state := "unchanged"
	if d.Changed {
		state = "stored; enroll writes them to new files of hosts"
	}
	w.Item("", "site settings in Secret "+d.Secret+" of "+d.Server+": "+state)
	w.Findings(d.Findings)
}
