// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// minCredentialLifetime is the shortest lifetime of a token that the API server issues.
const minCredentialLifetime = 10 * time.Minute

// addCredential adds the cluster to the join token and its file, if the cluster has the user data of the NodePool, and
// if the host can still use it. A join token with user data needs no cluster.
func (r *run) addCredential(
	ctx context.Context, file *tokenFile, object *v1alpha1.NodeEnrollment, enrolled *Enrolled,
) error {
	token := file.token
	remaining := time.Until(token.Expires)
	if len(r.found.userData) == 0 || token.UserData != nil || token.Cluster != nil || object.Spec.UsedBy != nil ||
		remaining <= 0 {
		return nil
	}
	account, err := r.createAccount(ctx, object)
	if err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(max(remaining, minCredentialLifetime).Seconds())),
	}}
	if err := r.CreateSub(ctx, "token", account, request); err != nil {
		return err
	}
	expires := request.Status.ExpirationTimestamp.UTC()
	enrolled.CredentialExpires = &expires
	r.result.Findings = append(r.result.Findings, checkCredential(token, expires)...)
	token.Cluster = &enrollment.Cluster{
		Server: r.Server, CA: string(r.CA), BearerToken: request.Status.Token,
		Secret: v1alpha1.UserDataSecret(r.options.NodePool),
	}
	enrolled.complete()
	return file.replace()
}

// checkCredential returns a warning if the API server has issued a token that expires before the join token.
func checkCredential(token *enrollment.Token, expires time.Time) []report.Finding {
	if token.Expires.Sub(expires) <= time.Minute {
		return nil
	}
	return []report.Finding{warning("credential", fmt.Sprintf("the API server limits tokens: the host of %s can get the "+
		"user data only until %s", token.NodeName, report.Timestamp(expires)),
		"# --service-account-max-token-expiration of kube-apiserver is the limit")}
}

// createAccount returns the ServiceAccount of a NodeEnrollment. It fails for an existing one of another owner, for
// which others can have tokens.
func (r *run) createAccount(ctx context.Context, object *v1alpha1.NodeEnrollment) (*corev1.ServiceAccount, error) {
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{
			Name: v1alpha1.ServiceAccount(object.Name), Namespace: v1alpha1.Namespace,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeEnrollment", Name: object.Name, UID: object.UID,
			}},
		},
		AutomountServiceAccountToken: ptr.To(false),
	}
	err := r.Create(ctx, account)
	if !apierrors.IsAlreadyExists(err) {
		return account, err
	}
	if err := r.Get(ctx, client.ObjectKeyFromObject(account), account); err != nil {
		return nil, err
	}
	for _, owner := range account.OwnerReferences {
		if owner.UID == object.UID {
			return account, nil
		}
	}
	return nil, report.Fail(report.Refused, report.Remedyf("oc --kubeconfig hosted.kubeconfig -n %s delete "+
		"serviceaccount %s # then run the same command again", account.Namespace, account.Name),
		"ServiceAccount %s in namespace %s of %s exists, and is not that of this NodeEnrollment", account.Name,
		account.Namespace, r.Server)
}
