// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// MigrationState is the result for an enrollment in a file.
type MigrationState string

// States of a migration.
const (
	MigrationCreated   MigrationState = "created"
	MigrationBound     MigrationState = "bound" // the NodeEnrollment existed without the key of its host
	MigrationUnchanged MigrationState = "unchanged"
	MigrationSkipped   MigrationState = "skipped" // the join token has expired, and no host has used it
	MigrationRefused   MigrationState = "refused"
)

// Enum returns all states.
func (MigrationState) Enum() []string {
	return schema.Strings(MigrationCreated, MigrationBound, MigrationUnchanged, MigrationSkipped, MigrationRefused)
}

// Migrated is an enrollment in a file of an earlier version, and what was done for it.
type Migrated struct {
	File     string         `json:"file" doc:"name of the file"`
	NodeName string         `json:"nodeName,omitempty" doc:"name of the node, absent if the file is invalid"`
	State    MigrationState `json:"state" doc:"what was done; in a dry run: what would be done"`
	BoundKey string         `json:"boundKey,omitempty" doc:"fingerprint of the key with which a host used the join token"`
	Reason   string         `json:"reason,omitempty" doc:"why the enrollment was refused or skipped"`

	object *v1alpha1.NodeEnrollment
	record *enrollment.Enrollment
}

func (m *Migrated) refuse(format string, args ...any) {
	m.State, m.Reason = MigrationRefused, fmt.Sprintf(format, args...)
}

// Migration configures Migrate.
type Migration struct {
	Dir                  string // of the enrollments
	Namespace, ConfigMap string // of the records of used join tokens
	DryRun               bool
}

// Migrate creates the NodeEnrollments of the enrollments in a directory. Those whose join tokens were used, by the
// records in a ConfigMap, are bound to the keys of their hosts. It fails if enrollments are refused. It returns what it
// has done also with an error.
func (c *Cluster) Migrate(ctx context.Context, m Migration, now time.Time) ([]Migrated, error) {
	all, err := readEnrollments(m.Dir)
	if err != nil {
		return nil, err
	}
	usedKeys, err := c.usedKeys(ctx, m.Namespace, m.ConfigMap)
	if err != nil {
		return nil, err
	}
	hashes, err := enrollment.CAHashes(c.CA)
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the hosted cluster: %w", err)
	}
	for i := range all {
		one := &all[i]
		if one.State == MigrationRefused {
			continue
		}
		one.BoundKey = usedKeys[one.record.ID]
		if err := one.record.CheckCluster(hashes); err != nil {
			one.refuse("%v", err)
			continue
		}
		if err := c.migrate(ctx, one, m.DryRun, now); err != nil {
			return all[:i], err
		}
	}
	return all, checkMigrated(all)
}

// migrate creates or binds the NodeEnrollment of an enrollment, unless a NodeEnrollment of another join token or key
// exists.
func (c *Cluster) migrate(ctx context.Context, m *Migrated, dryRun bool, now time.Time) error {
	existing, err := c.find(ctx, m.NodeName)
	if err != nil {
		return err
	}
	expired := m.record.CheckExpiry(now)
	switch {
	case m.BoundKey != "" && !strings.HasPrefix(m.BoundKey, "SHA256:"):
		m.refuse("the record of the used join token is unreadable: %s", m.BoundKey)
		m.BoundKey = ""
		return nil
	case existing == nil && m.BoundKey == "" && expired != nil:
		m.State, m.Reason = MigrationSkipped, expired.Error()
		return nil
	case existing == nil:
		m.State = MigrationCreated
	case existing.Spec.TokenID != m.object.Spec.TokenID || existing.Spec.PublicKey != m.object.Spec.PublicKey:
		m.refuse("NodeEnrollment %s has another join token (%s)", m.NodeName, existing.Spec.TokenID)
		return nil
	case m.BoundKey != "" && existing.Status.BoundKey != "" && existing.Status.BoundKey != m.BoundKey:
		m.refuse("NodeEnrollment %s is bound to another key (%s)", m.NodeName, existing.Status.BoundKey)
		return nil
	case m.BoundKey == existing.Status.BoundKey && !isSuspended(existing), m.BoundKey == "":
		m.State, m.BoundKey = MigrationUnchanged, existing.Status.BoundKey
		return nil
	default:
		m.State = MigrationBound
	}
	if dryRun {
		return nil
	}
	return c.write(ctx, m, existing)
}

// suspended returns the expiry of a NodeEnrollment that is not bound yet. The API server accepts no status when an
// object is created, and a controller could bind an object without a status to another key. It admits no host by an
// object that has expired and is not bound, however far apart the clocks are.
func suspended() metav1.Time { return metav1.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) }

func isSuspended(object *v1alpha1.NodeEnrollment) bool {
	expires := suspended()
	return object.Spec.Expires.Equal(&expires)
}

// write creates the NodeEnrollment if existing is nil, and binds it to the key. A repetition continues after an
// interruption.
func (c *Cluster) write(ctx context.Context, m *Migrated, existing *v1alpha1.NodeEnrollment) error {
	if existing == nil {
		existing = m.object.DeepCopy()
		if m.BoundKey != "" {
			existing.Spec.Expires = suspended()
		}
		if err := c.client.Create(ctx, existing); err != nil {
			return c.explain(ctx, err, "creating NodeEnrollment "+m.NodeName)
		}
	}
	if m.BoundKey == "" {
		return nil
	}
	var bound *v1alpha1.NodeEnrollment
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if bound, err = c.find(ctx, m.NodeName); err != nil || bound == nil || bound.Status.BoundKey != "" {
			return err
		}
		before := bound.DeepCopy()
		bound.Status.BoundKey = m.BoundKey
		return c.client.Status().Patch(ctx, bound, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	switch {
	case err != nil:
		return c.explain(ctx, err, "binding NodeEnrollment "+m.NodeName)
	case bound == nil || bound.Status.BoundKey != m.BoundKey:
		m.refuse("NodeEnrollment %s was changed meanwhile", m.NodeName)
		return nil
	case !isSuspended(bound):
		return nil
	}
	before := bound.DeepCopy()
	bound.Spec.Expires = m.object.Spec.Expires
	err = c.client.Patch(ctx, bound, client.MergeFrom(before))
	return c.explain(ctx, err, "setting the expiry of NodeEnrollment "+m.NodeName)
}

// find returns the NodeEnrollment of a node, nil if it does not exist.
func (c *Cluster) find(ctx context.Context, node string) (*v1alpha1.NodeEnrollment, error) {
	object := &v1alpha1.NodeEnrollment{}
	err := c.client.Get(ctx, client.ObjectKey{Name: node}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // it does not exist
	}
	return object, c.explain(ctx, err, "getting NodeEnrollment "+node)
}
