package bootstrap

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	firstOverride  = `{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/first","mode":384,"contents":{"source":"data:,a"}}]}}`
	secondOverride = `{"ignition":{"version":"3.6.0"},"storage":{"files":[{"path":"/etc/second","mode":384,"contents":{"source":"data:,b"}}]}}`
)

// A run uses the given overrides or, if it resumes a join, the saved ones. A join
// that starts over without overrides has none.
func TestReadOverrides(t *testing.T) {
	begun := State{Started: time.Now()}
	kept := []override{{"/gone/kept.ign", []byte(firstOverride)}}
	stub := writeTempFile(t, stubOf(t, "a.example.com", "clusters/one", "11"))
	for name, test := range map[string]struct {
		config config.Join
		state  State
		resume bool
		want   []string // configs of the overrides
	}{
		"none":                      {config.Join{UserData: stub}, State{}, false, nil},
		"given":                     {config.Join{UserData: stub, IgnitionOverrides: []string{writeTempFile(t, []byte(secondOverride)), "-"}}, State{}, false, []string{secondOverride, firstOverride}},
		"goes on":                   {config.Join{}, begun, false, []string{firstOverride}},
		"resumed at boot":           {config.Join{}, begun, true, []string{firstOverride}},
		"resumed, their files gone": {config.Join{UserData: "/gone/stub", IgnitionOverrides: []string{"/gone/kept.ign"}}, begun, true, []string{firstOverride}},
		"goes on with another":      {config.Join{IgnitionOverrides: []string{writeTempFile(t, []byte(secondOverride))}}, begun, false, []string{secondOverride}},
		"begun anew with another":   {config.Join{UserData: stub, IgnitionOverrides: []string{writeTempFile(t, []byte(secondOverride))}}, begun, false, []string{secondOverride}},
		"begun anew without":        {config.Join{UserData: stub}, begun, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := saveOverrides(dir, kept); err != nil {
				t.Fatal(err)
			}
			if err := saveFile(dir, userDataFile, stubOf(t, "kept.example.com", "clusters/kept", "22")); err != nil {
				t.Fatal(err)
			}
			in, err := readInputs(test.config, test.state, dir, test.resume, strings.NewReader(firstOverride))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range in.overrides {
				got = append(got, string(one.Config))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadOverridesAreRefused(t *testing.T) {
	stub := writeTempFile(t, stubOf(t, "a.example.com", "clusters/one", "11"))
	bad := writeTempFile(t, []byte("{\"ignition\":{\"version\":\"3.2.0\"},\n\"storage\":{\"files\":[{\"path\":\"etc/hunter2\"}]}}"))
	for name, test := range map[string]struct {
		names []string
		want  string
	}{
		"no such file":   {[]string{"/gone/site.ign"}, "reading --ignition-override: open /gone/site.ign"},
		"empty":          {[]string{writeTempFile(t, nil)}, "is empty"},
		"no config":      {[]string{writeTempFile(t, []byte(`{"ignition":x}`))}, "line 1"},
		"bad path":       {[]string{writeTempFile(t, []byte(firstOverride)), bad}, bad + `": it is not a valid Ignition config: `},
		"its line":       {[]string{bad}, "line 2 col"},
		"stdin twice":    {[]string{"-", "-"}, "not several"},
		"other spec":     {[]string{writeTempFile(t, []byte(`{"ignition":{"version":"2.3.0"}}`))}, "spec 2.3.0"},
		"not even a dir": {[]string{t.TempDir()}, "--ignition-override"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readInputs(config.Join{UserData: stub, IgnitionOverrides: test.names}, State{}, t.TempDir(), false, strings.NewReader(firstOverride))
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Usage || report.RemedyOf(err) == "" {
				t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
		})
	}
}

// Saved overrides must be protected as secrets, and must be removed with the join.
func TestOverridesAreSaved(t *testing.T) {
	dir := t.TempDir()
	list := []override{{"a.ign", []byte(firstOverride)}, {"-", []byte(secondOverride)}}
	j := &operation{dir: dir, inputs: inputs{overrides: list}, localHost: &localHost{facts: hostinfo.Facts{MachineID: "one"}}}
	if err := j.recordStart(); err != nil {
		t.Fatal(err)
	}
	got, err := savedOverrides(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, overridesFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	j.inputs.overrides = nil
	if err := j.recordStart(); err != nil {
		t.Fatal(err)
	}
	if got, err = savedOverrides(dir); err != nil || got != nil {
		t.Errorf("a # join without overrides keeps those before: %v, %v", got, err)
	}
	if err := saveFile(dir, overridesFile, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := savedOverrides(dir); report.CodeOf(err) != report.Usage {
		t.Errorf("a damaged file: %v", err)
	}
}

// operationWithPayload saves a payload and returns an operation that refers to it.
func operationWithPayload(t *testing.T, overrides ...string) *operation {
	t.Helper()
	j := &operation{dir: t.TempDir()}
	for _, one := range overrides {
		j.inputs.overrides = append(j.inputs.overrides, override{"a", []byte(one)})
	}
	content := `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,a"}},{"path":"` + bootstrapKubeconfigPath + `","contents":{"source":"data:,b"}}]}}`
	if err := saveFile(j.dir, payloadFile, []byte(content)); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestPayloadIsOverridden(t *testing.T) {
	j := operationWithPayload(t, firstOverride, secondOverride)
	kept, err := j.loadPayload(t.Context(), report.Log{})
	if err != nil || !kept {
		t.Fatalf("%t, %v", kept, err)
	}
	for name, want := range map[string]string{"/etc/a": "a", "/etc/first": "a", "/etc/second": "b"} {
		if content, _, _ := j.payload.File(name); string(content) != want {
			t.Errorf("%s is %q", name, content)
		}
	}
	if got, want := j.payloadSummary(), "4 files, 0 units, 0 kB, with 2 overrides"; got != want {
		t.Errorf("size %q", got)
	}
	if strings.Contains(string(j.payload.Raw), "first") {
		t.Error("overrides would be kept as what was served")
	}
}

// The resources to which an override refers are fetched once and saved with it.
func TestOverrideFromElsewhere(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte("from elsewhere"))
	}))
	defer server.Close()
	site := writeTempFile(t, []byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/c","contents":{"source":"`+server.URL+`/c"}}]}}`))
	stub := writeTempFile(t, stubOf(t, "a.example.com", "clusters/one", "11"))
	in, err := readInputs(config.Join{UserData: stub, IgnitionOverrides: []string{site}}, State{}, t.TempDir(), false, nil)
	if err != nil || asked != 0 {
		t.Fatalf("asked %d times while inputs are read, %v", asked, err)
	}
	j := operationWithPayload(t)
	j.inputs.overrides = in.overrides
	if _, err := fetchPayload(t.Context(), j, report.Log{}); err != nil {
		t.Fatal(err)
	}
	again := &operation{dir: j.dir}
	if again.inputs.overrides, err = savedOverrides(j.dir); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := fetchPayload(t.Context(), again, report.Log{}); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*operation{j, again} {
		if content, _, _ := one.payload.File("/etc/c"); string(content) != "from elsewhere" || asked != 1 {
			t.Errorf("content %q, asked %d times", content, asked)
		}
	}
}

// The bootstrap credential must be removed from everything that is saved, whatever
// its origin.
func TestSaveWithoutTheBootstrapCredential(t *testing.T) {
	j := operationWithPayload(t, firstOverride, `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"`+bootstrapKubeconfigPath+`","mode":384},{"path":"/etc/c"}]}}`)
	if _, err := j.loadPayload(t.Context(), report.Log{}); err != nil {
		t.Fatal(err)
	}
	if err := j.saveWithout(bootstrapKubeconfigPath); err != nil {
		t.Fatal(err)
	}
	list, err := savedOverrides(j.dir)
	if err != nil {
		t.Fatal(err)
	}
	again := &operation{dir: j.dir, inputs: inputs{overrides: list}}
	if _, err := again.loadPayload(t.Context(), report.Log{}); err != nil {
		t.Fatal(err)
	}
	if again.bootstrapKubeconfig() != nil {
		t.Error("the credential is back")
	}
	if again.payload.FileCount() != 3 {
		t.Errorf("left: %s", again.payload)
	}
}

func TestOverrideThatDoesNotFitThePayload(t *testing.T) {
	j := operationWithPayload(t, `{"ignition":{"version":"3.2.0"},"storage":{"links":[{"path":"/etc","target":"/x"}]}}`)
	if _, err := j.loadPayload(t.Context(), report.Log{}); report.CodeOf(err) != report.Usage || !strings.Contains(err.Error(), "do not fit together") {
		t.Errorf("%v", err)
	}
}
