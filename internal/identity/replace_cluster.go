// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// RemoveCAs removes CAs of the API server, in PEM, from those in kubelet's kubeconfig. kubelet reads them when it
// starts. The API server must be verified with the remaining CAs alone at the URL in the kubeconfig and at each of the
// servers, before the kubeconfig is written and afterwards. If it is not, RemoveCAs fails, and the kubeconfig has its
// former content. The returned function restores that content.
func (i *Identity) RemoveCAs(
	ctx context.Context, cas []byte, servers ...string,
) (restore func(context.Context) error, err error) {
	cluster, err := loadCluster(i.Kubeconfig)
	if err != nil {
		return nil, err
	}
	trusted, err := kube.ParsePEMCertificates(cluster.CA)
	if err != nil {
		return nil, err
	}
	removed, err := kube.ParsePEMCertificates(cas)
	if err != nil {
		return nil, err
	}
	remaining := kube.MissingCertificates(removed, trusted)
	if len(remaining) == 0 {
		return nil, errors.New("no CA of the API server would remain in kubelet's kubeconfig")
	}
	cluster.CA = kube.EncodeCertificates(remaining)
	check := func(ctx context.Context, ca []byte) error {
		for _, server := range append([]string{cluster.Server}, servers...) {
			if err := i.checkAccepted(ctx, kube.Cluster{Server: server, CA: ca}); err != nil {
				return fmt.Errorf("without the former CAs: %w", err)
			}
		}
		return nil
	}
	if err := check(ctx, cluster.CA); err != nil {
		return nil, err
	}
	return i.replaceStored(ctx, cluster, func(ctx context.Context) error { return check(ctx, nil) })
}

// CheckStored returns an error unless the API server accepts the certificate in kubelet's kubeconfig. It sends one
// request.
func (i *Identity) CheckStored(ctx context.Context) error {
	return i.checkAccepted(ctx, kube.Cluster{})
}

// replaceStored writes kubelet's kubeconfig with another URL or other CAs. If the check fails afterwards, it restores
// the former content. The returned function restores it, too.
func (i *Identity) replaceStored(
	ctx context.Context, cluster kube.Cluster, check func(context.Context) error,
) (restore func(context.Context) error, err error) {
	former, err := os.ReadFile(i.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	restore = func(ctx context.Context) error { return i.writeKubeconfig(ctx, former) }
	content, err := replaceCluster(i.Kubeconfig, cluster)
	if err != nil || content == nil {
		return restore, err
	}
	err = i.writeKubeconfig(ctx, content)
	if err == nil {
		err = check(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, restore(context.WithoutCancel(ctx)))
	}
	return restore, nil
}
