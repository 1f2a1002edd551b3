package manual

import "strings"

// paragraph is a part of a verb's text: prose, or lines that stay as they are.
type paragraph struct {
	lines  []string
	indent bool // lines that stay as they are
}

// paragraphs takes a text apart: an empty line ends a paragraph, and lines that
// begin with two spaces are one of their own.
func paragraphs(text string) []paragraph {
	var all []paragraph
	open := false
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			open = false
			continue
		}
		indent := strings.HasPrefix(line, "  ")
		if !open || all[len(all)-1].indent != indent {
			all = append(all, paragraph{indent: indent})
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, line)
		open = true
	}
	return all
}

// sentence gives a line of help the form that it has in prose.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
