// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/connect"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// InCluster enrolls nodes in the hosted cluster of the NodePool. After an error, the result contains the nodes that
// were enrolled.
func InCluster(ctx context.Context, clusters *connect.Clusters, options Options) (result Result, err error) {
	management, facts, err := findNodePool(ctx, clusters, options.NodePool)
	if err != nil {
		return Result{}, err
	}
	hosted, err := connectHosted(ctx, clusters, management, facts)
	if err == nil {
		err = hosted.addSite(ctx, &options.Input)
	}
	if err != nil {
		return Result{}, err
	}
	findings, err := hosted.addUserData(ctx, management, facts, &options)
	if err == nil {
		result, err = hosted.Enroll(ctx, options)
	}
	result.Findings = append(findings, result.Findings...)
	return result, err
}

// findNodePool returns the connection to the management cluster, and the facts about the NodePool, nil if only the
// hosted cluster is to be used.
func findNodePool(
	ctx context.Context, clusters *connect.Clusters, name string,
) (*cluster.Cluster, *nodepool.Facts, error) {
	if clusters.HostedKubeconfig != "" && !clusters.IsSet() {
		clusters.IsManagement = false
		return nil, nil, nil
	}
	management, err := clusters.Management()
	if err != nil {
		return nil, nil, err
	}
	facts, err := nodepool.GetObjects(ctx, management, clusters.Namespace, clusters.HostedCluster, name)
	if err != nil {
		return nil, nil, err
	}
	clusters.HostedCluster = facts.NodePool.Spec.ClusterName
	return management, facts, facts.CheckEnrollable()
}

// connectHosted connects to the hosted cluster of a NodePool, if there are facts about it.
func connectHosted(
	ctx context.Context, clusters *connect.Clusters, management *cluster.Cluster, facts *nodepool.Facts,
) (Cluster, error) {
	var of *nodepool.HostedCluster
	if facts != nil {
		of = facts.HostedCluster
	}
	_, config, err := clusters.ConfigOf(ctx, management, of)
	if err == nil && clusters.HostedKubeconfig != "" && facts != nil {
		err = checkSameCluster(ctx, config, management, facts)
	}
	if err != nil {
		return Cluster{}, err
	}
	opened, err := cluster.Open(cluster.Hosted, config)
	if err != nil {
		return Cluster{}, err
	}
	return newCluster(ctx, opened)
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

// addUserData adds the current user data of the NodePool to the options if the hosts need it at the first boot, and the
// hosted cluster does not have it. It returns findings about the user data.
func (c Cluster) addUserData(
	ctx context.Context, management *cluster.Cluster, facts *nodepool.Facts, options *Options,
) ([]report.Finding, error) {
	if options.UserData != nil {
		return nil, nil
	}
	published, err := c.publishedUserData(ctx, options.NodePool)
	switch {
	case err != nil:
		return nil, err
	case len(published) > 0 && options.Input.Format == Ignition:
		return []report.Finding{{
			Severity: report.SeverityNote, Check: "user-data",
			Message: "the hosts get the payload after their first boot, and then reboot into its image: Ignition creates no " +
				"disks, partitions and users of the payload",
			Remedy: "# for Ignition to apply the payload at the first boot, within the 5 to 11 hours for which user data " +
				"is valid: --embed-user-data",
		}}, nil
	case len(published) > 0:
		return nil, nil
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
			"--kubeconfig management.kubeconfig "+
			"# then run this command again with --embed-user-data user-data.ign", options.NodePool),
			"--format %s requires the user data of the NodePool, which %s does not contain", options.Input.Format,
			c.Server)
	}
	if err := facts.GetSecrets(ctx, management); err != nil {
		return nil, err
	}
	if _, err := facts.Check(ctx, time.Now(), false); err != nil {
		return nil, err
	}
	options.UserData = facts.UserData
	message := "the join tokens contain the current user data of the NodePool"
	if expires := facts.Expires(); !expires.IsZero() {
		message += ", which is valid until " + report.Timestamp(expires)
	}
	findings := []report.Finding{unpublished, {Severity: report.SeverityNote, Check: "user-data", Message: message}}
	return findings, nil
}
