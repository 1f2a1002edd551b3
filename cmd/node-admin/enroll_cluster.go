// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// enrollInCluster enrolls nodes in the hosted cluster of the NodePool.
func (o *enrollOptions) enrollInCluster(
	ctx context.Context, options enroll.Options, result *enroll.Result,
) error {
	management, facts, err := o.nodePool(ctx, options.NodePool)
	if err != nil {
		return err
	}
	config, err := o.hostedConfig(ctx, management, facts)
	if err != nil {
		return err
	}
	opened, err := cluster.Open(cluster.Hosted, config)
	if err != nil {
		return err
	}
	hosted, err := enroll.Connect(ctx, opened)
	if err != nil {
		return err
	}
	if err := hosted.AddSite(ctx, &options.Input); err != nil {
		return err
	}
	findings, err := o.addUserData(ctx, hosted, management, facts, &options)
	if err == nil {
		*result, err = hosted.Enroll(ctx, options)
	}
	result.Findings = append(findings, result.Findings...)
	return err
}

// nodePool returns the connection to the management cluster, and the facts about the NodePool, nil if only the hosted
// cluster is to be used.
func (o *enrollOptions) nodePool(
	ctx context.Context, name string,
) (*cluster.Cluster, *nodepool.Facts, error) {
	if o.management.HostedKubeconfig != "" && !o.management.IsSet() {
		o.management.IsManagement = false
		return nil, nil, nil
	}
	management, err := o.management.Management()
	if err != nil {
		return nil, nil, err
	}
	facts, err := nodepool.GetObjects(ctx, management, o.management.Namespace, o.management.HostedCluster, name)
	if err != nil {
		return nil, nil, err
	}
	o.management.HostedCluster = facts.NodePool.Spec.ClusterName
	return management, facts, facts.CheckEnrollable()
}

// hostedConfig returns the client configuration for the hosted cluster.
func (o *enrollOptions) hostedConfig(
	ctx context.Context, management *cluster.Cluster, facts *nodepool.Facts,
) (*rest.Config, error) {
	var of *nodepool.HostedCluster
	if facts != nil {
		of = facts.HostedCluster
	}
	_, config, err := o.management.ConfigOf(ctx, management, of)
	if err != nil || o.management.HostedKubeconfig == "" || facts == nil {
		return config, err
	}
	return config, checkSameCluster(ctx, config, management, facts)
}

// checkSameCluster fails if a kubeconfig is not that of the NodePool's hosted cluster. It permits the kubeconfig if
// that in the status of the HostedCluster cannot be read: the NodePool is then not compared.
func checkSameCluster(
	ctx context.Context, config *rest.Config, management *cluster.Cluster, facts *nodepool.Facts,
) error {
	kubeconfig, err := facts.HostedCluster.GetKubeconfig(ctx, management)
	if err != nil {
		return nil //nolint:nilerr // the credential may not read Secrets
	}
	expected, err := kube.ParseKubeconfig(kubeconfig)
	if err != nil {
		return nil //nolint:nilerr // the given kubeconfig is used, not this one
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("reading the files of the kubeconfig: %w", err)
	}
	of := func(config *rest.Config) kube.Cluster { return kube.Cluster{Server: config.Host, CA: config.CAData} }
	err = of(expected).CheckSame(of(config))
	mismatch, differs := err.(kube.MismatchError) //nolint:errorlint // it is not wrapped
	if err == nil || (differs && mismatch.SharesCA) {
		return nil // the same cluster, perhaps through another endpoint
	}
	return report.Fail(report.Refused, report.Remedyf("# use the kubeconfig of HostedCluster %s, which is read without "+
		"--hosted-kubeconfig", facts.NodePool.Spec.ClusterName),
		"--hosted-kubeconfig is not that of the hosted cluster of %s: %w", facts, err)
}

// addUserData adds the current user data of the NodePool to the options if the hosts need it: for Ignition always, and
// for other inputs at the first boot if the hosted cluster does not have it. It returns findings about the user data.
func (o *enrollOptions) addUserData(
	ctx context.Context, hosted enroll.Cluster, management *cluster.Cluster, facts *nodepool.Facts,
	options *enroll.Options,
) ([]report.Finding, error) {
	if options.UserData != nil {
		return nil, nil
	}
	isPublished, err := hosted.IsPublished(ctx, options.NodePool)
	if err != nil || (isPublished && options.Input.Format != enroll.Ignition) {
		return nil, err
	}
	unpublished := report.Finding{
		Severity: report.SeverityNote, Check: "user-data",
		Message: "the controller does not publish the user data of NodePool " + options.NodePool + " in the hosted cluster",
	}
	switch {
	case !options.Input.NeedsUserData():
		unpublished.Message += ": the hosts need it beside their join tokens"
		return []report.Finding{unpublished}, nil
	case facts == nil:
		return nil, report.Fail(report.Usage, report.Remedyf("hcp-node-admin user-data %s "+
			"--kubeconfig management.Kubeconfig "+
			"# then run this command again with --embed-user-data user-data.ign", options.NodePool),
			"--format %s requires the user data of the NodePool, which %s does not contain", options.Input.Format,
			hosted.Server)
	}
	if err := facts.GetSecrets(ctx, management); err != nil {
		return nil, err
	}
	if refusal := report.Refusal(facts.Evaluate(time.Now())); refusal != nil {
		return nil, report.Fail(report.CodeOf(refusal), report.RemedyOf(refusal), "%s: %w", facts, refusal)
	}
	options.UserData = facts.UserData
	message := "the join tokens contain the current user data of the NodePool"
	if expires := facts.Expires(); !expires.IsZero() {
		message += ", which is valid until " + report.Timestamp(expires)
	}
	findings := []report.Finding{{Severity: report.SeverityNote, Check: "user-data", Message: message}}
	if !isPublished {
		findings = append([]report.Finding{unpublished}, findings...)
	}
	return findings, nil
}
