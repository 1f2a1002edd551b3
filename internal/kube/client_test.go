// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// request is a request as the server receives it.
type request struct {
	Method, URI, Agent, Accept, ContentType, Body string
}

// recordingServer starts a server that records every request and responds with 404.
func recordingServer(t *testing.T) (config *rest.Config, received *[]request) {
	t.Helper()
	received = &[]request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*received = append(*received, request{
			Method:      r.Method,
			URI:         r.RequestURI,
			Agent:       r.UserAgent(),
			Accept:      r.Header.Get("Accept"),
			ContentType: r.Header.Get("Content-Type"),
			Body:        string(body),
		})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}, received
}

// Every request has the same bytes as that of the typed clientset.
func TestRequestsMatchTypedClientset(t *testing.T) {
	config, received := recordingServer(t)
	client, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	config.UserAgent = "hcp-node-agent"
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	seconds := int64(300)
	page := metav1.ListOptions{
		FieldSelector:   "spec.nodeName=worker-1",
		ResourceVersion: "0",
		Limit:           100,
		Continue:        "next",
	}
	changes := metav1.ListOptions{
		FieldSelector:       "metadata.name=worker-1",
		ResourceVersion:     "7",
		TimeoutSeconds:      &seconds,
		AllowWatchBookmarks: true,
	}
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: map[string]string{"a": "b"}}}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-1", ResourceVersion: "5"},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: []byte("request")},
	}
	enrollments := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "tokens", ResourceVersion: "5"}}
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "worker-1."}, Message: "text"}
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: "team", Name: "web"},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("1")},
	}
	right := authorizationv1.ResourceAttributes{Verb: "approve", Resource: "signers"}
	patch := []byte(`{"spec":{"unschedulable":true}}`)
	for name, test := range map[string]struct{ send, want func(context.Context) error }{
		"get Node": {
			send: func(ctx context.Context) error { _, err := client.Nodes().Get(ctx, "worker-1"); return err },
			want: func(ctx context.Context) error {
				_, err := typed.CoreV1().Nodes().Get(ctx, "worker-1", metav1.GetOptions{})
				return err
			},
		},
		"list Pods of all namespaces": {
			send: func(ctx context.Context) error { _, err := client.Pods("").List(ctx, page); return err },
			want: func(ctx context.Context) error { _, err := typed.CoreV1().Pods("").List(ctx, page); return err },
		},
		"watch CSRs": {
			send: func(ctx context.Context) error { _, err := client.CSRs().Watch(ctx, changes); return err },
			want: func(ctx context.Context) error {
				_, err := typed.CertificatesV1().CertificateSigningRequests().Watch(ctx, changes)
				return err
			},
		},
		"create Node, dry run": {
			send: func(ctx context.Context) error { _, err := client.Nodes().Create(ctx, node, dryRun); return err },
			want: func(ctx context.Context) error {
				_, err := typed.CoreV1().Nodes().Create(ctx, node, dryRun)
				return err
			},
		},
		"create Event": {
			send: func(ctx context.Context) error {
				_, err := client.Events("default").Create(ctx, event, metav1.CreateOptions{})
				return err
			},
			want: func(ctx context.Context) error {
				_, err := typed.CoreV1().Events("default").Create(ctx, event, metav1.CreateOptions{})
				return err
			},
		},
		"update ConfigMap": {
			send: func(ctx context.Context) error {
				_, err := client.ConfigMaps("kube-system").Update(ctx, enrollments)
				return err
			},
			want: func(ctx context.Context) error {
				_, err := typed.CoreV1().ConfigMaps("kube-system").Update(ctx, enrollments, metav1.UpdateOptions{})
				return err
			},
		},
		"approve CSR": {
			send: func(ctx context.Context) error { _, err := client.CSRs().Update(ctx, csr, "approval"); return err },
			want: func(ctx context.Context) error {
				_, err := typed.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, csr.Name, csr,
					metav1.UpdateOptions{})
				return err
			},
		},
		"patch Node": {
			send: func(ctx context.Context) error {
				_, err := client.Nodes().Patch(ctx, "worker-1", types.MergePatchType, patch)
				return err
			},
			want: func(ctx context.Context) error {
				_, err := typed.CoreV1().Nodes().Patch(ctx, "worker-1", types.MergePatchType, patch,
					metav1.PatchOptions{})
				return err
			},
		},
		"get Lease": {
			send: func(ctx context.Context) error {
				_, err := client.Leases("kube-node-lease").Get(ctx, "worker-1")
				return err
			},
			want: func(ctx context.Context) error {
				_, err := typed.CoordinationV1().Leases("kube-node-lease").Get(ctx, "worker-1", metav1.GetOptions{})
				return err
			},
		},
		"evict Pod": {
			send: func(ctx context.Context) error { return client.Evict(ctx, eviction) },
			want: func(ctx context.Context) error { return typed.CoreV1().Pods("team").EvictV1(ctx, eviction) },
		},
		"review a right": {
			send: func(ctx context.Context) error { _, err := client.Allowed(ctx, right); return err },
			want: func(ctx context.Context) error {
				review := &authorizationv1.SelfSubjectAccessReview{
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
				}
				_, err := typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
				return err
			},
		},
		"version": {
			send: func(ctx context.Context) error { return client.RESTClient().Get().AbsPath("/version").Do(ctx).Error() },
			want: func(ctx context.Context) error {
				return typed.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			*received = nil
			for _, send := range []func(context.Context) error{test.send, test.want} {
				if err := send(t.Context()); !apierrors.IsNotFound(err) {
					t.Errorf("%v, want not found", err)
				}
			}
			if len(*received) != 2 {
				t.Fatalf("%d requests, want 2", len(*received))
			}
			if diff := cmp.Diff((*received)[1], (*received)[0]); diff != "" {
				t.Errorf("(-typed clientset +client):\n%s", diff)
			}
		})
	}
}

// The server may answer in protobuf.
func TestGetDecodesProtobuf(t *testing.T) {
	renewed := metav1.NewMicroTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1"},
		Spec:       coordinationv1.LeaseSpec{RenewTime: &renewed},
	}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	var content bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(lease, &content); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(content.Bytes())
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Leases("kube-node-lease").Get(t.Context(), "worker-1")
	if err != nil || !got.Spec.RenewTime.Equal(&renewed) {
		t.Errorf("%+v, %v", got, err)
	}
}
