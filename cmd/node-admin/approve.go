// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// approveOptions are the flags of approve.
type approveOptions struct {
	cluster                             clusterFlags
	enrollmentDir, namespace, configMap string
	name, node, fingerprint             string
	addresses                           []string
	watch, allowManagementCluster       bool
	probeAddress                        string
	timeout                             time.Duration
}

func newApproveCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "approve [NODE|CSR]",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.ApprovalMissing, report.Interrupted),
		Short:       "Approve CSRs of nodes by their enrollments, or of one node",
		Long: `Approve runs where the hosted cluster is administered, not on a node: the right
to approve is the right to become any node.

With --enrollments it approves every CSR that proves the join token of an
enrollment in DIR, and no other; with --watch it does so until it is stopped.
With NODE, or the name of one of its CSRs, it prints the pending CSRs of the
node, with the reasons for and against their approval, and the commands that
approve them; exit code 5 means that nothing was approved. With NODE and
--fingerprint it approves the client CSR with the key that join prints on the
node; with --address also the serving CSR of the node when it is created. Any
node can choose the name of a CSR, so that it does not select what is approved.

Nothing is ever denied. A join token is valid for one key, which is recorded in
a ConfigMap of the hosted cluster (deploy/approver-rbac.yaml creates it, and the
rights that approve needs).` + describePermissions(approvePermissions()),
		Example: `  hcp-node-admin approve --enrollments DIR --watch --kubeconfig FILE
  hcp-node-admin approve worker-7.example.com
  hcp-node-admin approve worker-7.example.com --fingerprint SHA256:HEX`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("at most one node or CSR is possible")
			}
			return nil
		},
	}
	var o approveOptions
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.enrollmentDir, "enrollments", "",
		"`DIR` with manifests of NodeEnrollments, NAME.yaml; reread when it changes")
	flags.BoolVar(&o.watch, "watch", false, "approve new CSRs until stopped")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", "",
		"with --watch: serve /readyz and /livez over HTTP at `ADDRESS`, such as :8080")
	o.cluster.add(flags, ", or - for standard input")
	flags.StringVar(&o.node, "node", "", "`NAME` of the single node to approve; the same as NODE")
	flags.StringVar(&o.fingerprint, "fingerprint", "",
		"fingerprint of that node's key, as printed by join: `SHA256:HEX`")
	flags.StringSliceVar(&o.addresses, "address", nil,
		"`IP` that the serving certificate of that node may contain; can be repeated")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute,
		"timeout of the wait for the CSRs of that node, as a `DURATION`; 0 means no limit")
	flags.StringVarP(&o.namespace, "namespace", "n", approver.DefaultNamespace,
		"`NAMESPACE` of the ConfigMap that records used join tokens")
	flags.StringVar(&o.configMap, "configmap", approver.DefaultConfigMap, "ConfigMap `NAME`")
	flags.BoolVar(&o.allowManagementCluster, "allow-management-cluster", false,
		"approve nodes of a cluster that serves HostedClusters itself")
	c.ValidArgsFunction = completeOne(completeFrom(&o.cluster, fleet.Client.PendingNames))
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.name = args[0]
		}
		return o.run(c.Context(), p)
	}
	return c
}

func (o approveOptions) check() error {
	switch {
	case o.node != "" && o.name != "":
		return usageError("NODE and --node exclude each other")
	case (o.enrollmentDir == "") == (o.node+o.name == ""):
		return usageError("exactly one of --enrollments DIR and NODE is required")
	case o.enrollmentDir != "" && (o.fingerprint != "" || len(o.addresses) > 0):
		return usageError("--fingerprint and --address require NODE; an enrollment contains its own")
	case o.watch && o.enrollmentDir == "":
		return usageError("--watch requires --enrollments")
	case o.probeAddress != "" && !o.watch:
		return usageError("--health-probe-bind-address requires --watch")
	case o.node != "" && o.fingerprint == "" && len(o.addresses) == 0:
		return usageError("--node requires --fingerprint, --address or both")
	}
	if o.enrollmentDir == "" {
		return nil
	}
	if info, err := os.Stat(o.enrollmentDir); err != nil {
		return usageError("--enrollments: %w", err)
	} else if !info.IsDir() {
		return usageError("--enrollments %s is not a directory", o.enrollmentDir)
	}
	return checkNoTokens(o.enrollmentDir)
}

// checkNoTokens fails if a directory of enrollments contains join tokens. A program that can read the directory
// could join hosts as their nodes.
func checkNoTokens(dir string) error {
	tokens, err := filepath.Glob(filepath.Join(dir, "*"+enrollment.TokenSuffix))
	if err != nil || len(tokens) == 0 {
		return nil //nolint:nilerr // a pattern in the name of the directory
	}
	move := report.Remedyf("mkdir -m 700 tokens && mv %s/*%s tokens/", report.ShellWord(dir), enrollment.TokenSuffix)
	return report.Fail(report.Usage, move,
		"%s contains join tokens, which are secrets of their hosts (first: %s); keep them in another directory",
		dir, filepath.Base(tokens[0]))
}

func (o approveOptions) run(ctx context.Context, p *cli.Printer) error {
	p.OneLine = true // every decision is a document on one line
	if err := o.check(); err != nil {
		return err
	}
	addresses, err := parseAddresses(o.addresses)
	if err != nil {
		return usageError("--address: %w", err)
	}
	kubeconfig, err := o.cluster.read(p.In)
	if err != nil {
		return err
	}
	notify := report.SystemdNotifier{}
	a, err := approver.Open(approver.Options{
		Kubeconfig:             kubeconfig,
		EnrollmentDir:          o.enrollmentDir,
		Namespace:              o.namespace,
		ConfigMap:              o.configMap,
		AllowManagementCluster: o.allowManagementCluster,

		OnEvent:  func(recorded approver.Event) { printEvent(p, recorded) },
		OnStatus: notify.Status,
		OnReady:  func() { notify.Ready("watching") },
	})
	switch {
	case err != nil:
		return err
	case o.watch:
		return o.watchCSRs(ctx, a)
	case o.enrollmentDir != "":
		return a.Once(ctx)
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	if o.name != "" && o.fingerprint == "" && len(addresses) == 0 {
		return reviewCSRs(ctx, p, a, o.name)
	}
	o.node = cmp.Or(o.node, o.name)
	if err := checkNodeNames([]string{o.node}); err != nil {
		return err
	}
	return a.ApproveManually(ctx, approver.ManualApproval{
		NodeName:    o.node,
		Fingerprint: o.fingerprint,
		Addresses:   addresses,
		Log:         report.Log{Sink: p.Sink, Step: "approve"},
	})
}

func (o approveOptions) watchCSRs(ctx context.Context, a *approver.Approver) error {
	if o.probeAddress != "" {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.probeAddress)
		if err != nil {
			return usageError("--health-probe-bind-address: %w", err)
		}
		server := &http.Server{Handler: a.HealthHandler(), ReadTimeout: 10 * time.Second}
		defer server.Close()
		go func() { _ = server.Serve(listener) }() // the probes report a failure
	}
	return a.Watch(ctx)
}

type eventDocument struct {
	report.TypeMeta
	approver.Event
}

// printEvent prints one line for each event.
func printEvent(p *cli.Printer, recorded approver.Event) {
	recorded.Remedy = report.Remedy(p.Program.Rename(string(recorded.Remedy)))
	// An event that cannot be printed does not stop the approver.
	_ = p.Event(eventDocument{report.Meta("ApproverEvent"), recorded}, eventText(recorded))
}

func eventText(recorded approver.Event) string {
	words := []string{fmt.Sprintf("%-8s", recorded.Outcome)}
	if recorded.CSR != "" {
		kind := "client"
		if strings.HasSuffix(recorded.Signer, "kubelet-serving") {
			kind = "serving"
		}
		node := recorded.Node
		if enrollment.CheckNodeName(node) != nil {
			node = strconv.Quote(node) // chosen by the requestor
		}
		words = append(words, fmt.Sprintf("%-12s %s CSR %s", node, kind, approver.DisplayName(recorded.CSR)))
		if recorded.Key != "" {
			words = append(words, "(key "+recorded.Key+")")
		}
	}
	text := strings.Join(words, " ")
	if recorded.Reason != "" {
		text += ": " + recorded.Reason
	}
	if recorded.Remedy != "" {
		text += "; " + recorded.Remedy.Inline()
	}
	return strings.ReplaceAll(text, "\n", " ")
}

func parseAddresses(texts []string) ([]netip.Prefix, error) {
	var addresses []netip.Prefix
	for _, text := range texts {
		address, err := enrollment.ParseAddress(text)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}
