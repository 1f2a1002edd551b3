// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenResults has a result with bars and one with lines.
func goldenResults() []Result {
	bars := Result{
		Name: "apply", Method: "Both apply a config.", Title: "Apply beside Ignition", Command: "go run ./bench",
		Date: "2026-02-03", Commit: "bbbb", Machine: "Example CPU, 2 cores, Linux 6.1, go1.26",
		Tables: []Table{{Header: []string{"config", "agent, ms", "ratio"}}},
		Charts: []Chart{{Title: "Time, ms", Series: []Series{{Name: "agent"}, {Name: "<Ignition>"}}}},
		Compared: []Figure{
			{Name: "slower", Value: 1.2, Previous: &Previous{Value: 1, Date: "2026-01-02", Commit: "aaaa"}},
			{Name: "faster", Value: 0.5, Previous: &Previous{Value: 1, Date: "2026-01-02", Commit: "aaaa"}},
			{Name: "from zero", Value: 2, Previous: &Previous{Date: "2026-01-02", Commit: "aaaa"}},
			{Name: "new", Value: 3},
		},
	}
	bars.Tables[0].AddRow("8 files", 1234.5, 1.0017)
	bars.Charts[0].AddGroup("8 files", 30, 20)
	bars.Charts[0].AddGroup("80 files", 0, 40)
	lines := Result{
		Name: "fleet", Method: "Nodes enroll.", Title: "The controller with simulated nodes", Command: "go run ./fleet",
		Date: "2026-03-04", Commit: "cccc-dirty", Guest: "emulated",
		Machine: "Other CPU, 4 cores, Linux 6.2, go1.27",
		Charts: []Chart{{
			Title: "CPU, ms per node", X: []float64{100, 300, 1000}, XTitle: "nodes",
			Series: []Series{{Name: "enrollment", Values: []float64{38, 35, 38}}, {Name: "report", Values: []float64{5, 4, 5}}},
		}},
	}
	return []Result{lines, bars}
}

func TestRender(t *testing.T) {
	got := Render(goldenResults())
	names := []string{"benchmarks.md", "benchmarks/apply.svg", "benchmarks/fleet.svg"}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	for name, content := range got {
		golden := filepath.Join("testdata", filepath.Base(name)+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), content); diff != "" {
			t.Errorf("%s; -update writes it (-want +got):\n%s", golden, diff)
		}
		if filepath.Ext(name) == ".svg" {
			checkPicture(t, name, content)
		}
	}
}

// checkPicture checks that a picture is well-formed and small.
func checkPicture(t *testing.T, name, content string) {
	t.Helper()
	if len(content) > 60_000 {
		t.Errorf("%s has %d bytes, want at most 60000", name, len(content))
	}
	decoder := xml.NewDecoder(strings.NewReader(content))
	var err error
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("%s: %v", name, err)
	}
}

// The committed page and charts are those of the committed results, and no other result is committed.
func TestDocument(t *testing.T) {
	const docs = "../../docs"
	results, err := Load(docs)
	if err != nil {
		t.Fatal(err)
	}
	want := Render(results)
	for _, r := range results {
		want[directory+"/"+r.Name+".json"] = "" // read above
	}
	for name, content := range want {
		got, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			t.Errorf("go run ./test/benchmarks/render writes it: %v", err)
		}
		if content == "" {
			continue
		}
		if diff := cmp.Diff(content, string(got)); diff != "" {
			t.Errorf("docs/%s; go run ./test/benchmarks/render writes it (-want +got):\n%s", name, diff)
		}
		if filepath.Ext(name) == ".svg" {
			checkPicture(t, name, content)
		}
	}
	committed, err := filepath.Glob(filepath.Join(docs, directory, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range committed {
		if _, isWanted := want[directory+"/"+filepath.Base(path)]; !isWanted {
			t.Errorf("%s belongs to no result", path)
		}
	}
}

// A figure keeps its value of the last other commit, however often the same commit is measured.
func TestPreviousFigures(t *testing.T) {
	measured := func(commit string, value float64) Result {
		return Result{Commit: commit, Date: "day of " + commit, Compared: []Figure{{Name: "ratio", Value: value}}}
	}
	var saved Result
	for _, step := range []struct {
		commit string
		value  float64
		want   *Previous
	}{
		{"a", 1, nil},
		{"a", 2, nil},
		{"b", 3, &Previous{Value: 2, Date: "day of a", Commit: "a"}},
		{"b", 4, &Previous{Value: 2, Date: "day of a", Commit: "a"}},
		{"c", 5, &Previous{Value: 4, Date: "day of b", Commit: "b"}},
	} {
		saved = measured(step.commit, step.value).after(saved)
		if diff := cmp.Diff(step.want, saved.Compared[0].Previous); diff != "" {
			t.Errorf("commit %s, value %g (-want +got):\n%s", step.commit, step.value, diff)
		}
	}
	added := Result{Commit: "d", Compared: []Figure{{Name: "new", Value: 1}}}.after(saved).Compared[0]
	if added.Previous != nil {
		t.Errorf("a new figure has the previous value %v", *added.Previous)
	}
}

func TestSave(t *testing.T) {
	docs := t.TempDir()
	dir := filepath.Join(docs, directory)
	if err := (Result{Name: "apply"}).Save(""); err != nil {
		t.Error(err)
	}
	if err := (Result{Name: "other"}).Save(dir); err == nil {
		t.Error("a result was saved that is not a part of the document")
	}
	r := Result{Name: "apply", Method: "Both apply a config.", Guest: "emulated"}
	r.Compare("ratio", 1.5)
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	saved, err := Load(docs)
	if err != nil || len(saved) != 1 {
		t.Fatalf("loaded %d results: %v", len(saved), err)
	}
	got := saved[0]
	for name, value := range map[string]string{
		"title": got.Title, "command": got.Command, "date": got.Date, "commit": got.Commit, "machine": got.Machine,
	} {
		if value == "" {
			t.Errorf("the result has no %s", name)
		}
	}
	got.Title, got.Command, got.Date, got.Commit, got.Machine = "", "", "", "", ""
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "apply.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var syntax *json.SyntaxError
	if err := r.Save(dir); !errors.As(err, &syntax) {
		t.Errorf("saving over an invalid result: %v", err)
	}
}

func TestFormat(t *testing.T) {
	for figure, want := range map[float64]string{
		0: "0", 31: "31", 1.0017: "1.00", 0.00412: "0.00412", 12.345: "12.3", 99.96: "100", 1234.5: "1234",
	} {
		if got := format(figure); got != want {
			t.Errorf("format(%g) = %q, want %q", figure, got, want)
		}
	}
}
