// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/x509"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// decodeObject decodes the manifest of a NodeEnrollment.
func decodeObject(content []byte) (*v1alpha1.NodeEnrollment, error) {
	version := v1alpha1.GroupVersion.String()
	encoded, meta, err := decodeYAML(content, maxEnrollmentBytes)
	if err != nil {
		return nil, err
	}
	if err := checkKind(meta, KindEnrollment, version); err != nil {
		return nil, err
	}
	object := &v1alpha1.NodeEnrollment{}
	err = report.DecodeFields(encoded, object)
	switch {
	case report.CodeOf(err) == report.Refused:
		return nil, err
	case err != nil:
		return nil, errors.New("a value has the wrong type")
	case object.APIVersion != version:
		return nil, report.RefuseFormat("the file is a NodeEnrollment in version %q, not in version %s",
			shorten(object.APIVersion), version)
	}
	return object, nil
}

// FromObject returns the enrollment in a NodeEnrollment. It does not check the expiry.
func FromObject(object *v1alpha1.NodeEnrollment) (*Enrollment, error) {
	spec := object.Spec
	terms, err := document{
		ID: spec.TokenID, NodeName: object.Name, Expires: formatTime(spec.Expires.Time),
		ClusterCA: lists.Map(spec.ClusterCA, func(text string) Hash { return Hash(text) }),
	}.terms()
	if err != nil {
		return nil, err
	}
	labels, taints := settingsOf(spec)
	if err := errors.Join(checkList("labels", labels, checkLabel), checkList("taints", taints, checkTaint)); err != nil {
		return nil, err
	}
	e := &Enrollment{
		Terms: terms, NodePool: spec.NodePool, Reinstall: spec.Reinstall, Labels: labels, Taints: taints,
	}
	if e.key, err = parsePublicKey(spec.PublicKey); err != nil {
		return nil, fmt.Errorf("publicKey: %w", err)
	}
	e.Addresses, err = parseAddresses(spec.Addresses)
	return e, err
}

// Object returns the NodeEnrollment of the enrollment.
func (e *Enrollment) Object() (*v1alpha1.NodeEnrollment, error) {
	der, err := x509.MarshalPKIXPublicKey(e.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the enrollment's key: %w", err)
	}
	object := &v1alpha1.NodeEnrollment{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: string(KindEnrollment)},
		ObjectMeta: metav1.ObjectMeta{Name: e.NodeName},
		Spec: v1alpha1.NodeEnrollmentSpec{
			TokenID:   e.ID,
			PublicKey: encodePEM(publicKeyType, der),
			ClusterCA: lists.Map(e.ClusterCA, func(hash Hash) string { return string(hash) }),
			Expires:   metav1.NewTime(e.Expires),
			Addresses: FormatAddresses(e.Addresses),
			NodePool:  e.NodePool,
			Reinstall: e.Reinstall,
		},
	}
	setSettings(&object.Spec, e.Labels, e.Taints)
	return object, nil
}
