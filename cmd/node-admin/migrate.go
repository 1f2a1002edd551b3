// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// migrateOptions are the flags of migrate.
type migrateOptions struct {
	cluster   clusterFlags
	migration enroll.Migration
}

type migrateDocument struct {
	report.TypeMeta
	Enrollments []enroll.Migrated `json:"enrollments" doc:"enrollments in the directory"`
	DryRun      bool              `json:"dryRun,omitempty" doc:"nothing was changed, because of --dry-run"`
	report.CommandResult
}

func newMigrateCommand(p *cli.Printer) *cobra.Command {
	var o migrateOptions
	c := &cobra.Command{
		Use:         "migrate DIR",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Create NodeEnrollments from the files of an earlier version",
		Long: `Migrate creates the NodeEnrollments of the enrollments in DIR, by which earlier
versions approved CSRs. Join tokens that were not used remain valid. Those that
were used, by the records in a ConfigMap of the hosted cluster, are bound to the
keys of their hosts, before the controller can bind them to another key.

First stop the service or the Deployment that uses DIR. The controller can run.
The command can be repeated. It refuses an enrollment if a NodeEnrollment of its
node has another join token or key (exit code 3), and migrates the others. The
ConfigMap is not changed.` + describePermissions(migratePermissions()),
		Example: "  hcp-node-admin migrate /etc/hcp-node-admin/enrollments \\\n" +
			"      --kubeconfig hosted.kubeconfig",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("one directory with enrollments is required")
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	o.cluster.add(flags, ", or - for standard input")
	flags.StringVarP(&o.migration.Namespace, "namespace", "n", enroll.DefaultRecordsNamespace,
		"`NAMESPACE` of the ConfigMap that records used join tokens")
	flags.StringVar(&o.migration.ConfigMap, "configmap", enroll.DefaultRecordsConfigMap, "ConfigMap `NAME`")
	flags.BoolVar(&o.migration.DryRun, "dry-run", false, "print what would be done")
	c.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.migration.Dir = args[0]
		return o.run(c.Context(), p)
	}
	return c
}

// migratePermissions returns the rights with which enrollments are migrated.
func migratePermissions() []permission {
	return []permission{
		{verbs: "get,create,patch", resource: enrollmentResource},
		{verbs: "patch", resource: "nodeenrollments/status.hcp-node-agent.io"},
		{verbs: "get", resource: "configmaps", namespace: enroll.DefaultRecordsNamespace},
	}
}

func (o *migrateOptions) run(ctx context.Context, p *cli.Printer) error {
	cluster, err := connectEnroll(ctx, &o.cluster, p.In)
	if err != nil {
		return err
	}
	all, err := cluster.Migrate(ctx, o.migration, time.Now())
	if err != nil && len(all) == 0 {
		return err
	}
	document := migrateDocument{
		TypeMeta: report.Meta("MigrateResult"), Enrollments: all, DryRun: o.migration.DryRun,
		CommandResult: report.ResultOf(err),
	}
	return p.FinishPartly(err, document, func(w *report.Page) { o.print(w, document, p.Program) })
}

func (o *migrateOptions) print(w *report.Page, document migrateDocument, program cli.Program) {
	for _, one := range document.Enrollments {
		text := string(one.State)
		if one.BoundKey != "" {
			text += ", bound to the key " + one.BoundKey
		}
		if one.Reason != "" {
			text += ": " + one.Reason
		}
		w.Item(one.File+": ", text)
	}
	if o.migration.DryRun {
		w.Printf("# nothing was changed, because of --dry-run\n")
		return
	}
	w.Printf("%s\n", program.Remedy(report.Remedyf("# when all enrollments are migrated, delete the records and the "+
		"former permissions:\noc -n %[1]s delete configmap %[2]s\n"+
		"oc -n %[3]s delete role,rolebinding,serviceaccount hcp-node-admin-approver\n"+
		"oc delete clusterrole,clusterrolebinding hcp-node-admin-approver",
		report.ShellWord(o.migration.Namespace), report.ShellWord(o.migration.ConfigMap), enroll.DefaultRecordsNamespace)))
}
