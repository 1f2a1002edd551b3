// SPDX-License-Identifier: Apache-2.0

// Package benchmarks saves the results of the benchmarks, and renders docs/benchmarks.md with their charts.
package benchmarks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A Result has the figures of a part of make bench. Save sets the fields from Title on.
type Result struct {
	Name     string   `json:"name"`            // as in PARTS
	Method   string   `json:"method"`          // one or two sentences
	Guest    string   `json:"guest,omitempty"` // how the virtual machine runs, if there is one
	Tables   []Table  `json:"tables,omitempty"`
	Charts   []Chart  `json:"charts,omitempty"`
	Compared []Figure `json:"compared,omitempty"`

	Title   string `json:"title"`
	Command string `json:"command"` // repeats the measurement
	Date    string `json:"date"`
	Commit  string `json:"commit"`  // with -dirty if files of the repository were modified
	Machine string `json:"machine"` // processor, cores, kernel, version of Go
}

// Compare adds a figure that is compared with its previous value.
func (r *Result) Compare(name string, value float64) {
	r.Compared = append(r.Compared, Figure{Name: name, Value: value})
}

// A Table has cells in Markdown.
type Table struct {
	Header []string   `json:"header"`
	Rows   [][]string `json:"rows"`
}

// AddRow adds a row with a name and figures.
func (t *Table) AddRow(name string, figures ...float64) {
	row := []string{name}
	for _, figure := range figures {
		row = append(row, format(figure))
	}
	t.Rows = append(t.Rows, row)
}

// format returns a figure with three digits, or as a whole number.
func format(figure float64) string {
	if figure >= 100 || figure == math.Trunc(figure) {
		return fmt.Sprintf("%.0f", figure)
	}
	return strings.TrimSuffix(fmt.Sprintf("%#.3g", figure), ".")
}

// A Chart has a group of bars for each label, or a line for each series over X. The values of a series are in the order
// of the labels or of X.
type Chart struct {
	Title  string    `json:"title"` // with the unit
	Labels []string  `json:"labels,omitempty"`
	X      []float64 `json:"x,omitempty"`
	XTitle string    `json:"xTitle,omitempty"`
	Series []Series  `json:"series"`
}

// Series is a set of bars in one color, or a line.
type Series struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// AddGroup adds a group with a bar of each series.
func (c *Chart) AddGroup(label string, values ...float64) {
	c.Labels = append(c.Labels, label)
	for i, value := range values {
		c.Series[i].Values = append(c.Series[i].Values, value)
	}
}

// A Figure is a ratio, or another figure that depends little on the machine. Smaller is better.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Previous is the value of the last saved result of another commit.
	Previous *Previous `json:"previous,omitempty"`
}

// Previous is an earlier value of a figure.
type Previous struct {
	Value  float64 `json:"value"`
	Date   string  `json:"date"`
	Commit string  `json:"commit"`
}

// Median returns the median of values, the larger of the two in the middle of an even number.
func Median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// parts are the names and titles of the results, in the order of the document.
var parts = [][2]string{
	{"apply", "Apply beside Ignition"},
	{"join", "A join beside its floor"},
	{"upgrade", "An upgrade beside its floor"},
	{"interruption", "Interruption of the network beside configure-ovs.sh"},
	{"fleet", "The controller with simulated nodes"},
	{"service", "Memory and processor time of the service"},
}

// SaveFlag defines the flag with the directory for [Result.Save].
func SaveFlag() *string {
	return flag.String("save", "", "save the result in this `DIRECTORY`, docs/benchmarks for the documentation")
}

// Save adds the date, the commit, the machine and the previous figures, and writes the result to a directory. It does
// nothing if the directory is "". The working directory must be inside the repository.
func (r Result) Save(dir string) error {
	if dir == "" {
		return nil
	}
	if err := r.identify(); err != nil {
		return fmt.Errorf("saving the result: %w", err)
	}
	path := filepath.Join(dir, r.Name+".json")
	last, err := load(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err := json.MarshalIndent(r.after(last), "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a directory of the repository
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o644) //nolint:gosec // a file of the repository
}

// identify sets the title, the command, the date, the commit and the machine.
func (r *Result) identify() error {
	part := slices.IndexFunc(parts, func(part [2]string) bool { return part[0] == r.Name })
	if part < 0 {
		return fmt.Errorf("%q is not a part of the document", r.Name)
	}
	commit, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("finding the commit: %w", err)
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no", "--", ":/",
		":(top,exclude)docs/benchmarks*").Output()
	if err != nil {
		return fmt.Errorf("finding changes of the repository: %w", err)
	}
	r.Commit = string(bytes.TrimSpace(commit))
	if len(changes) > 0 {
		r.Commit += "-dirty"
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	_, model, _ := strings.Cut(string(cpu), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	r.Title, r.Date = parts[part][1], time.Now().UTC().Format(time.DateOnly)
	r.Machine = fmt.Sprintf("%s, %d cores, Linux %s, %s", model, runtime.NumCPU(), bytes.TrimSpace(kernel),
		runtime.Version())
	if build, ok := debug.ReadBuildInfo(); ok {
		program := strings.TrimPrefix(build.Path, build.Main.Path)
		r.Command = strings.Join(append([]string{"go run ." + program}, os.Args[1:]...), " ")
	}
	return nil
}

// after returns the result with the figures of the last one that was saved, or with those before it if both are of the
// same commit.
func (r Result) after(last Result) Result {
	r.Compared = slices.Clone(r.Compared)
	for i, figure := range r.Compared {
		for _, other := range last.Compared {
			switch {
			case other.Name != figure.Name:
			case last.Commit == r.Commit:
				r.Compared[i].Previous = other.Previous
			default:
				r.Compared[i].Previous = &Previous{Value: other.Value, Date: last.Date, Commit: last.Commit}
			}
		}
	}
	return r
}

// Load returns the results that are saved below a directory with the documentation, in the order of the document.
func Load(docs string) ([]Result, error) {
	var results []Result
	for _, part := range parts {
		result, err := load(filepath.Join(docs, directory, part[0]+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

func load(path string) (r Result, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("reading %s: %w", path, err)
	}
	return r, nil
}
