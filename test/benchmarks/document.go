// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	// directory has the results and their charts, beside the document.
	directory = "benchmarks"
	// maxIncrease is the increase of a figure up to which it is not emphasized, in percent.
	maxIncrease = 10
)

const introduction = `# Benchmarks

%[1]smake bench%[1]s measures all parts and writes this page, %[1]smake bench PARTS="join apply"%[1]s only some of them.
The others keep their figures: each part has its own date, commit and machine. Compare times only with others of the
same part; ratios and memory depend little on the machine. [Scale](scale.md) explains the figures of the controller.

| part | measured on | at commit |
|---|---|---|
`

// Render returns the files of the document by their paths in the directory of the documentation: the page, and the
// charts of each result.
func Render(results []Result) map[string]string {
	files := map[string]string{}
	var index, sections strings.Builder
	fmt.Fprintf(&index, introduction, "`")
	for _, part := range parts {
		name, title := part[0], part[1]
		anchor := strings.ReplaceAll(regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		fmt.Fprintf(&index, "| [%s](#%s) |", title, anchor)
		fmt.Fprintf(&sections, "\n## %s\n\n", title)
		i := slices.IndexFunc(results, func(r Result) bool { return r.Name == name })
		if i < 0 {
			fmt.Fprintln(&index, " not measured yet | |")
			fmt.Fprintf(&sections, "Not measured yet: `make bench PARTS=%s`\n", name)
			continue
		}
		r := results[i]
		fmt.Fprintf(&index, " %s | %s |\n", r.Date, r.Commit)
		writeSection(&sections, r)
		if len(r.Charts) > 0 {
			files[directory+"/"+name+".svg"] = drawCharts(title, r.Charts)
		}
	}
	files[directory+".md"] = index.String() + sections.String()
	return files
}

// writeSection writes the section of a result without its heading.
func writeSection(to *strings.Builder, r Result) {
	guest := ""
	if r.Guest != "" {
		guest = "; the virtual machine is " + r.Guest
	}
	fmt.Fprintf(to, "%s\n\nMeasured on %s at commit %s, with %s%s. Repeat it with\n`%s`.\n", r.Method, r.Date, r.Commit,
		r.Machine, guest, r.Command)
	if len(r.Charts) > 0 {
		fmt.Fprintf(to, "\n![%s](%s/%s.svg)\n", r.Title, directory, r.Name)
	}
	for _, table := range r.Tables {
		writeTable(to, table)
	}
	if len(r.Compared) == 0 {
		return
	}
	fmt.Fprintf(to, "\nCompared with the last result of another commit. Smaller is better; an increase by more than "+
		"%d %% is bold.\n", maxIncrease)
	writeTable(to, comparison(r.Compared))
}

// comparison returns the table of the figures beside their previous values.
func comparison(figures []Figure) Table {
	table := Table{Header: []string{"figure", "value", "previous", "change", "previous commit"}}
	for _, figure := range figures {
		row := []string{figure.Name, format(figure.Value), "", "", ""}
		if previous := figure.Previous; previous != nil {
			row[2], row[4] = format(previous.Value), previous.Commit+", "+previous.Date
			if previous.Value > 0 {
				change := (figure.Value/previous.Value - 1) * 100
				row[3] = fmt.Sprintf("%+.0f %%", change)
				if change > maxIncrease {
					row[3] = "**" + row[3] + "**"
				}
			}
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func writeTable(to *strings.Builder, table Table) {
	line := func(cells []string) { fmt.Fprintf(to, "| %s |\n", strings.Join(cells, " | ")) }
	to.WriteString("\n")
	line(table.Header)
	to.WriteString("|---" + strings.Repeat("|---:", len(table.Header)-1) + "|\n")
	for _, row := range table.Rows {
		line(row)
	}
}
