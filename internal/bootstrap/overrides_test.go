// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

const (
	firstOverride  = `{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/first","mode":384,"contents":{"source":"data:,a"}}]}}`
	secondOverride = `{"ignition":{"version":"3.6.0"},"storage":{"files":[{"path":"/etc/second","mode":384,"contents":{"source":"data:,b"}}]}}`
)

// joinWithPayload saves a payload and returns a join that refers to it.
func joinWithPayload(t *testing.T, overrides ...string) *Flow {
	t.Helper()
	j := NewFlow(plan.Run{Dir: t.TempDir()}, nil)
	for _, one := range overrides {
		j.Run.Overrides = append(j.Run.Overrides, joinstate.Override{Name: "a", Config: []byte(one)})
	}
	content := `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,a"}},{"path":"` + ignition.BootstrapKubeconfigPath + `","contents":{"source":"data:,b"}}]}}`
	if err := joinstate.SaveFile(j.Run.Dir, joinstate.PayloadFile, []byte(content)); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestPayloadIsOverridden(t *testing.T) {
	j := joinWithPayload(t, firstOverride, secondOverride)
	if err := j.LoadPayload(t.Context(), report.Log{}, j.Run.SavedPayload()); err != nil || !j.Loaded.IsSaved() {
		t.Fatalf("%+v, %v", j.Loaded, err)
	}
	for name, want := range map[string]string{"/etc/a": "a", "/etc/first": "a", "/etc/second": "b"} {
		if content, _, _ := j.Loaded.Payload.File(name); string(content) != want {
			t.Errorf("%s is %q", name, content)
		}
	}
	if got, want := j.Loaded.Summary(), "4 files, 0 units, 0 kB, with 2 overrides"; got != want {
		t.Errorf("size %q", got)
	}
	if strings.Contains(string(j.Loaded.Payload.Raw), "first") {
		t.Error("overrides would be kept as what was served")
	}
}

// The resources to which an override refers are fetched once and saved with it.
func TestOverrideFromElsewhere(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write([]byte("from elsewhere"))
	}))
	defer server.Close()
	site := flowtest.WriteTempFile(t,
		[]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/c","contents":{"source":"`+server.URL+
			`/c"}}]}}`))
	userData := flowtest.WriteTempFile(t, flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11"))
	in, err := request.Read(t.Context(), request.Options{
		Config:   config.Join{UserData: userData, IgnitionOverrides: []string{site}},
		StateDir: t.TempDir(),
	}, joinstate.State{}, request.UserDataRequired)
	if err != nil || requests != 0 {
		t.Fatalf("asked %d times while inputs are read, %v", requests, err)
	}
	j := joinWithPayload(t)
	j.Run.Overrides = in.Overrides
	if _, err := RunStep(t.Context(), steps.Fetch, j, report.Log{}); err != nil {
		t.Fatal(err)
	}
	again := NewFlow(plan.Run{Dir: j.Run.Dir}, nil)
	if again.Run.Overrides, err = joinstate.LoadOverrides(j.Run.Dir); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := RunStep(t.Context(), steps.Fetch, again, report.Log{}); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*Flow{j, again} {
		if content, _, _ := one.Loaded.Payload.File("/etc/c"); string(content) != "from elsewhere" || requests != 1 {
			t.Errorf("content %q, asked %d times", content, requests)
		}
	}
}

func TestOverrideThatDoesNotFitThePayload(t *testing.T) {
	j := joinWithPayload(t, `{"ignition":{"version":"3.2.0"},"storage":{"links":[{"path":"/etc","target":"/x"}]}}`)
	if err := j.LoadPayload(t.Context(), report.Log{}, j.Run.SavedPayload()); report.CodeOf(err) != report.Usage ||
		!strings.Contains(err.Error(), "the merged config is not valid") {
		t.Errorf("%v", err)
	}
}
