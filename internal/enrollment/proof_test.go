// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestSignAndVerify(t *testing.T) {
	desired := fullOptions(t)
	token, enrollment := newToken(t, desired)
	cluster, err := CAHashes(desired.ClusterCA)
	if err != nil {
		t.Fatal(err)
	}
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	proof, err := token.Sign(cluster, &key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := token.Sign(cluster, &key.PublicKey); err != nil || !maps.Equal(proof, again) {
		t.Errorf("the same join token and key give %v and %v, %v", proof, again, err)
	}
	foreign, err := CAHashes(certtest.NewCA(t, "ca").PEM)
	if err != nil {
		t.Fatal(err)
	}
	another, anotherEnrollment := newToken(t, desired)
	otherCluster, err := another.Sign(cluster, &key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	with := func(name, value string) map[string]string {
		changed := maps.Clone(proof)
		changed[name] = value
		return changed
	}
	renamed := *enrollment
	renamed.NodeName = "worker-8"
	for name, test := range map[string]struct {
		enrollment  *Enrollment
		cluster     []Hash
		key         any
		annotations map[string]string
		want        string
	}{
		"as it should be":         {enrollment, cluster, &key.PublicKey, proof, ""},
		"the CA was rotated":      {enrollment, append(slices.Clone(foreign), cluster[0]), &key.PublicKey, proof, ""},
		"no authority in common":  {enrollment, foreign, &key.PublicKey, proof, "is for another cluster"},
		"signed for the other CA": {enrollment, cluster[1:], &key.PublicKey, proof, "does not match join token"},
		"another key":             {enrollment, cluster, &other.PublicKey, proof, "does not match join token"},
		"another name":            {&renamed, cluster, &key.PublicKey, proof, "does not match join token"},
		"another join token":      {enrollment, cluster, &key.PublicKey, otherCluster, "the CSR has join token ID"},
		"another enrollment": {
			anotherEnrollment, cluster, &key.PublicKey, with(AnnotationID, another.ID), "does not match join token",
		},
		"no annotations": {enrollment, cluster, &key.PublicKey, nil, "the CSR has join token ID"},
		"no proof": {
			enrollment, cluster, &key.PublicKey, with(annotationSignature, ""), "contains no signature",
		},
		"another version": {
			enrollment, cluster, &key.PublicKey,
			with(annotationSignature, "v2:"+strings.TrimPrefix(proof[annotationSignature], "v1:")), "not of version v1",
		},
		"rubbish": {enrollment, cluster, &key.PublicKey, with(annotationSignature, "v1:!"), "is malformed"},
		"cut": {
			enrollment, cluster, &key.PublicKey, with(annotationSignature, proof[annotationSignature][:40]), "is malformed",
		},
		"longer": {
			enrollment, cluster, &key.PublicKey,
			with(annotationSignature, proof[annotationSignature]+strings.Repeat("A", 1<<20)), "is malformed: it is too long",
		},
		"no public key": {enrollment, cluster, "x", proof, "encoding public key"},
	} {
		err := test.enrollment.Verify(test.cluster, test.key, test.annotations)
		if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: Verify() = %v, want %q", name, err, test.want)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: the sentence has %d characters", name, len(err.Error()))
		}
	}
	if _, err := token.Sign(foreign, &key.PublicKey); err == nil || !strings.Contains(err.Error(), "another cluster") {
		t.Errorf("Prove() in another cluster = %v", err)
	}
}

// The signed data is a stable format: issued tokens must remain valid.
func TestSignedMessageIsStable(t *testing.T) {
	public, err := hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a") // of RFC 8032, 7.1
	if err != nil {
		t.Fatal(err)
	}
	got, err := signedMessage(Hash(hashPrefix+strings.Repeat("ab", 32)), strings.Repeat("cd", 16), "worker-7",
		ed25519.PublicKey(public))
	if err != nil {
		t.Fatal(err)
	}
	const digest = "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9" // by sha256sum
	const want = "AAAAImhjcC1ub2RlLWFnZW50IGpvaW4gdG9rZW4gcHJvb2YgdjEAAAAgq6urq6urq6urq6urq6urq6urq6urq6urq6" +
		"urq6urq6sAAAAgY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2RjZGNkY2QAAAAId29ya2VyLTcAAAAg"
	if len(got) < 32 {
		t.Fatal("too short")
	}
	head, tail := base64.StdEncoding.EncodeToString(got[:len(got)-32]), hex.EncodeToString(got[len(got)-32:])
	if head != want || tail != digest {
		t.Errorf("signed is %s and then %s", head, tail)
	}
}
