// SPDX-License-Identifier: Apache-2.0

package csrcache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/watchlist"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

func csrMetadata(name string, annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", ResourceVersion: "7", Annotations: annotations},
	}
}

func TestShrink(t *testing.T) {
	id, long := strings.Repeat("ab", maxTokenIDLength/2), strings.Repeat("a", 100_000)
	for name, test := range map[string]struct {
		annotations, want map[string]string
	}{
		"none": {nil, nil},
		"token": {
			map[string]string{enrollment.AnnotationID: id, "x": long}, map[string]string{enrollment.AnnotationID: id},
		},
		"too long": {map[string]string{enrollment.AnnotationID: id + "a"}, nil},
		"empty":    {map[string]string{enrollment.AnnotationID: ""}, nil},
	} {
		full := csrMetadata("csr", test.annotations)
		full.Labels, full.Finalizers = map[string]string{"x": long}, []string{long}
		full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: long}}
		full.OwnerReferences = []metav1.OwnerReference{{Name: long}}
		got, err := Shrink(full)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(csrMetadata("csr", test.want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// fakeCSRs lists count CSRs in pages, as the API server does.
type fakeCSRs struct {
	count     int
	requested []metav1.ListOptions
	fail      bool
}

func (f *fakeCSRs) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	f.requested = append(f.requested, options)
	first, _ := strconv.Atoi(options.Continue)
	if f.fail && first > 0 {
		return nil, errors.New("expired")
	}
	end := f.count // without a limit, all
	if options.Limit > 0 {
		end = min(end, first+int(options.Limit))
	}
	page := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "42"}}
	for n := first; n < end; n++ {
		annotations := map[string]string{"x": strings.Repeat("x", 1000)}
		page.Items = append(page.Items, *csrMetadata(fmt.Sprint(n), annotations))
	}
	if end < f.count {
		page.Continue = strconv.Itoa(end)
	}
	return page, nil
}

func (f *fakeCSRs) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

func TestPagedMetadata(t *testing.T) {
	for _, count := range []int{0, 1, metadataPageSize, metadataPageSize + 1, 3*metadataPageSize + 5} {
		from := &fakeCSRs{count: count}
		listed, err := pagedMetadata{from}.List(metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		list, isList := listed.(*metav1.PartialObjectMetadataList)
		if !isList || list.ResourceVersion != "42" || list.Continue != "" || len(list.Items) != count {
			t.Fatalf("of %d CSRs, listed %+v", count, listed)
		}
		for n, item := range list.Items {
			if item.Name != fmt.Sprint(n) || item.Annotations != nil {
				t.Errorf("CSR %d is %+v", n, item)
			}
		}
		if want := max(1, (count+metadataPageSize-1)/metadataPageSize); len(from.requested) != want {
			t.Errorf("%d CSRs in %d pages, want %d", count, len(from.requested), want)
		}
		for _, options := range from.requested {
			if options.Limit != metadataPageSize || options.ResourceVersion != "" {
				t.Errorf("requested %+v", options)
			}
		}
	}
	if _, err := (pagedMetadata{&fakeCSRs{count: 100, fail: true}}).List(metav1.ListOptions{}); err == nil {
		t.Error("a list without its last pages is no error")
	}
	if !watchlist.DoesClientNotSupportWatchListSemantics(pagedMetadata{&fakeCSRs{}}) {
		t.Error("the list would be a stream, which has no pages")
	}
}
