// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The Secret with the settings of the site. It is a Secret because they can contain an activation key and passwords.
const (
	SiteSecret = "site"
	siteKey    = "site.yaml"
)

// getSite returns the Secret with the settings of the site.
func (c Cluster) getSite(ctx context.Context) (secret *corev1.Secret, exists bool, err error) {
	secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: SiteSecret}}
	exists, err = c.Find(ctx, client.ObjectKeyFromObject(secret), secret)
	return secret, exists, err
}

// addSite sets the settings of the site in the input of the hosts to those of the cluster, unless they are set or not
// needed. It fails if the hosts cannot become nodes without them.
func (c Cluster) addSite(ctx context.Context, input *HostInput) error {
	if input.Site != nil || !input.NeedsUserData() {
		return nil
	}
	secret, exists, err := c.getSite(ctx)
	switch {
	case err != nil:
		return err
	case exists:
		if input.Site, err = site.Parse(secret.Data[siteKey]); err != nil {
			return report.Fail(report.Refused, "hcp-node-admin site apply -f site.yaml "+
				"# with valid settings", "Secret %s in namespace %s of %s, %s: %w", SiteSecret, v1alpha1.Namespace, c.Server,
				siteKey, err)
		}
	case input.NeedsSite():
		return report.Fail(report.Refused, "# write the repositories and the other settings of the site to a file, as in "+
			"examples/site.yaml, then:\nhcp-node-admin site apply -f site.yaml",
			"--format %s requires the settings of the site, with which a host gets the agent and the software of a node; %s "+
				"has none", input.Format, c.Server)
	default:
		input.Site = &site.Config{}
	}
	return nil
}

// StoreSite stores the settings of the site, which site.Parse has accepted. It reports whether it has changed them.
func (c Cluster) StoreSite(ctx context.Context, content []byte) (isChanged bool, err error) {
	secret, exists, err := c.getSite(ctx)
	if err != nil || bytes.Equal(secret.Data[siteKey], content) {
		return false, err
	}
	secret.Data = map[string][]byte{siteKey: content}
	if exists {
		return true, c.Update(ctx, secret)
	}
	return true, c.Create(ctx, secret)
}
