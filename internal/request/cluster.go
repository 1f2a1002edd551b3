// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

const (
	// clusterTimeout limits the wait for an API server that does not respond, as ignition.Fetcher limits that for an
	// ignition server. The service tries again.
	clusterTimeout = 2 * time.Minute
	// permissionTimeout limits the wait for the controller, which writes the RoleBinding of a NodePool up to 5 seconds
	// after the enrollment of a host.
	permissionTimeout  = 30 * time.Second
	permissionInterval = time.Second
	// maxSecretBytes limits the response of the API server. A Secret has at most 1 MiB.
	maxSecretBytes = 2 << 20
)

// isInCluster reports whether this run gets the user data from the hosted cluster of the join token: a join that has
// no other user data and no payload yet. A resumed join does so too, because the saved user data may have expired.
// Afterwards the credential of the join token is no longer valid.
func (r *reader) isInCluster() bool {
	token, state, saved := r.request.JoinToken, r.state, r.state.Config
	if token == nil || token.Cluster == nil || r.Offline || state.PayloadDigest != "" || !state.Finished.IsZero() ||
		r.given.HasUserData() {
		return false
	}
	if r.given.JoinToken == "" && saved.HasUserData() {
		return false // the join was started with other user data than that of the saved join token
	}
	hasValues := saved.TokenFile != "" || saved.CAFile != "" || saved.NodePool != "" || saved.ConfigHash != ""
	return !r.Resume || !hasValues // the saved user data contains these values
}

// getUserData gets the user data of the NodePool from the hosted cluster, with the credential of the join token. It
// retries temporary failures until clusterTimeout.
func getUserData(ctx context.Context, sink report.Sink, token *enrollment.Token) ([]byte, error) {
	c := token.Cluster
	config := &rest.Config{
		Host: c.Server, BearerToken: c.BearerToken, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(c.CA)},
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limitedTransport{next} })
	conn, err := kube.Connect(config, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	doing := fmt.Sprintf("getting the user data, Secret %s in namespace %s of %s", c.Secret, v1alpha1.Namespace, c.Server)
	log := report.Log{Sink: sink, Step: "begin"}
	var secret *corev1.Secret
	err = awaitPermission(ctx, log, permissionTimeout, func() (err error) {
		secret, err = kube.Fetch(ctx, conn, log, doing, func() (*corev1.Secret, error) {
			return conn.Client.Secrets(v1alpha1.Namespace).Get(ctx, c.Secret)
		})
		return err
	})
	if err != nil {
		return nil, explainClusterFailure(err, doing, token)
	}
	userData := secret.Data[v1alpha1.UserDataKey]
	if len(userData) == 0 {
		return nil, report.Fail(report.Failed, listSecrets(), "%s: it has no key %s", doing, v1alpha1.UserDataKey)
	}
	return userData, nil
}

// awaitPermission repeats a request that the API server forbids, until timeout or the end of ctx. It returns the last
// error of the API server.
func awaitPermission(ctx context.Context, log report.Log, timeout time.Duration, request func() error) error {
	err := request()
	for end := time.Now().Add(timeout); apierrors.IsForbidden(err) && time.Now().Before(end); {
		log.WaitForRetry("waiting for the permission to read the user data: the controller grants it some seconds after the "+
			"enrollment", "", permissionInterval)
		if wait.Sleep(ctx, permissionInterval) != nil {
			return report.WaitError(ctx, err)
		}
		forbidden := err
		if err = request(); err != nil && ctx.Err() != nil {
			return report.WaitError(ctx, forbidden)
		}
	}
	return err
}

// explainClusterFailure returns the failure of a request for the user data, with a remedy for the rejections that the
// life cycle of an enrollment causes.
func explainClusterFailure(err error, doing string, token *enrollment.Token) error {
	const otherwise = "\n# or get the user data of the NodePool, and run on this host:\n" +
		"hcp-node-agent join --join-token FILE --user-data user-data.ign"
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status):
		return err
	case apierrors.IsUnauthorized(err):
		return report.Fail(report.CredentialRefused, EnrollCommand(token.NodeName)+otherwise,
			"%s: the API server rejects the credential of the join token (HTTP 401): it has expired, or the enrollment of %s "+
				"was revoked", doing, token.NodeName)
	case apierrors.IsForbidden(err):
		return report.Fail(report.CredentialRefused,
			report.Remedyf("# on the hosted cluster, the RoleBinding %[1]s must contain ServiceAccount node-%[2]s:\n"+
				"oc get nodeenrollments %[2]s\noc -n %[3]s get rolebinding %[1]s -o yaml\n"+
				"oc -n %[3]s get pods # the controller writes it", token.Cluster.Secret, token.NodeName, v1alpha1.Namespace),
			"%s: no permission (HTTP 403): the join token of %s was used by another host or has expired, or the controller "+
				"does not run", doing, token.NodeName)
	case apierrors.IsNotFound(err):
		return report.Fail(report.Failed, listSecrets()+otherwise,
			"%s: it does not exist: the controller does not publish the user data of this NodePool", doing)
	}
	return err
}

func listSecrets() report.Remedy {
	return report.Remedyf("# on the hosted cluster, the controller publishes a Secret for each NodePool:\n"+
		"oc -n %s get secrets -l %s", v1alpha1.Namespace, v1alpha1.LabelNodePool)
}

// limitedTransport fails responses that are larger than maxSecretBytes.
type limitedTransport struct{ http.RoundTripper }

// RoundTrip sends the request.
func (t limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxSecretBytes)
	}
	return response, err
}
