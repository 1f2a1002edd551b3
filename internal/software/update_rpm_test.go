// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package software

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// An update lists, downloads and installs new versions, and keeps the packages of the release. After the
// download, it needs no repository.
func TestRealUpdate(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("site")
	var isOffline atomic.Bool
	files := http.FileServer(http.Dir(b.Dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isOffline.Load() {
			panic(http.ErrAbortHandler)
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	const long = "a-package-with-a-name-that-does-not-fit-in-the-column-of-the-table-of-dnf"
	b.Build("site", "bash-5.1.8-6.el9", long+"-1.2.3-20251101120000.el9", "cri-o-1.31.4-2.rhaos4.18.el9",
		"openvswitch3.5-3.5.0-1.el9fdp")
	b.Sign("site", "site")
	b.UpdateRepository("site")
	b.ConfigureRepository("site", "baseurl="+server.URL+"/site", "enabled=1", "gpgkey=file://"+key)
	if err := Install(t.Context(), b.Root, report.Log{}, "bash", long, "cri-o", "openvswitch3.5"); err != nil {
		t.Fatal(err)
	}
	updater, err := NewUpdater(t.Context(), b.Root)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := updater.List(t.Context(), report.Log{}); err != nil || list != nil {
		t.Fatalf("before there are updates: %v, %v", list, err)
	}

	b.Build("site", "dependency-1-1.el9", "cri-o-1.31.5-1.rhaos4.18.el9", "openvswitch3.5-3.5.0-2.el9fdp")
	b.Header = "Requires: dependency\n"
	b.Build("site", "bash-5.1.8-9.el9", long+"-1.2.4-20251201120000.el9")
	b.Sign("site", "site")
	b.UpdateRepository("site")
	list, err := updater.List(t.Context(), report.Log{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{long + "-1.2.4", "bash-5.1.8", "dependency-1"}
	if diff := cmp.Diff(want, packageNames(list)); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if err := updater.Download(t.Context(), report.Log{}); err != nil {
		t.Fatal(err)
	}
	last, err := updater.LastTransaction(t.Context())
	if err != nil || last != "1" {
		t.Errorf("the last transaction after the download is %q, %v", last, err)
	}
	isOffline.Store(true)
	if err := updater.Update(t.Context(), report.Log{}); err != nil {
		t.Fatal(err)
	}
	installed, err := b.Root.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range installed {
		if p.Name != "gpg-pubkey" {
			got = append(got, p.String())
		}
	}
	slices.Sort(got)
	want = []string{
		long + "-1.2.4-20251201120000.el9.noarch", "bash-5.1.8-9.el9.noarch", "cri-o-1.31.4-2.rhaos4.18.el9.noarch",
		"dependency-1-1.el9.noarch", "openvswitch3.5-3.5.0-1.el9fdp.noarch",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages after the update (-want +got):\n%s", diff)
	}
	history, err := b.Root.Transactions(t.Context(), last)
	if err != nil || len(history) != 1 || history[0].Comment != updateComment {
		t.Errorf("history %+v, %v", history, err)
	}

	isOffline.Store(false)
	for _, nvr := range []string{"bash-5.1.8-10.el9", "bash-5.1.8-11.el9"} { // metadata that is newer than the download
		b.Build("site", nvr)
		b.Sign("site", "site")
		b.UpdateRepository("site")
		if list, err := updater.List(t.Context(), report.Log{}); err != nil || len(list) != 1 {
			t.Fatalf("updates %v, %v", list, err)
		}
		if nvr == "bash-5.1.8-10.el9" {
			if err := updater.Download(t.Context(), report.Log{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := updater.Update(t.Context(), report.Log{}); err != nil {
		t.Fatal(err)
	}
	newest, err := b.Root.Installed(t.Context(), "bash")
	if err != nil || len(newest) != 1 || newest[0].Release != "11.el9" {
		t.Errorf("after newer metadata %v, %v", newest, err)
	}
}
