// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package publisher

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func (c *clusters) checkRotation(t *testing.T, r *running) {
	before := c.published(t, "workers")
	check(t, c.objects.RotateToken(t.Context(), c.state(t, "workers", secondToken)))
	waittest.UntilTrue(t, "the expiry of the former token", func() bool { // the user data has it still
		state := v1alpha1.StateOfPublished(c.published(t, "workers"))
		return state.Problem == "" && time.Until(state.Expires) < 6*time.Hour
	})
	c.awaitContent(t, "workers", firstToken)
	c.setToken(t, secondToken)
	after := c.awaitContent(t, "workers", secondToken)
	if after.UID != before.UID {
		t.Error("the Secret was replaced, and with it the Role that the Secret owns")
	}
	first, _ := r.last("workers")
	waittest.UntilTrue(t, "the next time of a success", func() bool {
		at, _ := r.last("workers")
		return at.After(first)
	})
	r.awaitRounds(t)
	unchanged := c.published(t, "workers")
	if unchanged.ResourceVersion != c.awaitContent(t, "workers", secondToken).ResourceVersion {
		t.Error("an unchanged Secret was written")
	}
}

// HyperShift deletes the user data of the former configuration before it names the new one in the NodePool. Until then,
// the published user data remains, with the reason. A former configuration can return.
func (c *clusters) checkNewConfiguration(t *testing.T, r *running) {
	former := c.published(t, "workers")
	for _, config := range []string{"99aa88bb", "844282c1"} {
		state := c.state(t, "workers", firstToken)
		userData, err := ignition.ParseUserData(state.UserData)
		check(t, err)
		userData, err = userData.Override(ignition.Values{Hash: config})
		check(t, err)
		state.UserData, err = userData.Encode()
		check(t, err)
		state.Config = config
		check(t, c.objects.ReplaceSecrets(t.Context(), state))
		waittest.UntilTrue(t, "the problem", func() bool {
			return strings.HasPrefix(c.published(t, "workers").Annotations[v1alpha1.AnnotationPoolProblem], "Secret user-data-"+
				"workers-"+former.Annotations[v1alpha1.AnnotationPoolConfig]+" does not exist in namespace clusters-hosted-a")
		})
		between := c.published(t, "workers")
		if !bytes.Equal(between.Data[v1alpha1.UserDataKey], former.Data[v1alpha1.UserDataKey]) {
			t.Error("the published user data was changed before the NodePool names the new configuration")
		}
		check(t, c.objects.ApplyNodePool(t.Context(), state))
		waittest.UntilTrue(t, "the user data of "+config, func() bool {
			former = c.published(t, "workers")
			published := v1alpha1.StateOfPublished(former)
			return published.Config == config && published.Problem == ""
		})
		if !bytes.Equal(former.Data[v1alpha1.UserDataKey], state.UserData) {
			t.Errorf("the published user data is not that of %s", config)
		}
	}
	r.await(t, "workers", "the user data is published")
}

// The name of a NodePool can have dots and more characters than a label.
func (c *clusters) checkLongName(t *testing.T) {
	name := strings.Repeat("long-name.", 19) + "long-name9"
	c.createPool(t, name, "hosted-a")
	secret := c.awaitContent(t, name, firstToken)
	if got := v1alpha1.PublishedNodePool(secret); got != name {
		t.Errorf("the published Secret is that of NodePool %q", got)
	}
	check(t, c.management.Delete(t.Context(), c.pool(t, name)))
	waittest.UntilTrue(t, "the deletion of the Secret", func() bool { return c.published(t, name) == nil })
}
