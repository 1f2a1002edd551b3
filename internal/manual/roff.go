package manual

import (
	"fmt"
	"strings"
)

// roff is a page in the language of man(7), in the part of it that groff and
// mandoc both know.
type roff struct{ strings.Builder }

// The sections of the manual that there are pages in.
const (
	formats        = 5
	administration = 8
)

func (r *roff) begin(t Tool, section int, name, does string) {
	titles := map[int]string{formats: "File Formats", administration: "System Administration"}
	fmt.Fprintf(r, ".\\\" Made by %s docs man; do not change it by hand.\n", escape(t.Name))
	fmt.Fprintf(r, ".TH %s %d \"%s\" \"%s %s\" \"%s\"\n", escape(strings.ToUpper(name)), section, t.Date, escape(t.Name), escape(t.Version), titles[section])
	fmt.Fprintf(r, ".nh\n.ad l\n.SH NAME\n%s \\- %s\n", escape(name), escape(does))
}

func (r *roff) section(title string) { fmt.Fprintf(r, ".SH %s\n", title) }

// synopsis has rest as roff already.
func (r *roff) synopsis(command, rest string) { fmt.Fprintf(r, "%s %s\n", bold(command), rest) }

// item is a tagged paragraph; tag is roff already.
func (r *roff) item(tag, text string) { fmt.Fprintf(r, ".TP\n%s\n%s\n", tag, line(text)) }

// prose has one paragraph after another. The first follows its heading.
func (r *roff) prose(text string) {
	for i, p := range paragraphs(text) {
		switch {
		case p.indent:
			if i > 0 {
				fmt.Fprint(r, ".PP\n")
			}
			fmt.Fprint(r, ".RS 4\n.nf\n")
			for _, l := range p.lines {
				fmt.Fprintln(r, line(strings.TrimPrefix(l, "  ")))
			}
			fmt.Fprint(r, ".fi\n.RE\n")
		default:
			if i > 0 {
				fmt.Fprint(r, ".PP\n")
			}
			for _, l := range p.lines {
				fmt.Fprintln(r, line(l))
			}
		}
	}
}

// reference is a page that another names.
type reference struct {
	name    string
	section int
}

func (r *roff) see(pages ...reference) {
	r.section("SEE ALSO")
	for i, page := range pages {
		comma := " ,"
		if i == len(pages)-1 {
			comma = ""
		}
		fmt.Fprintf(r, ".BR %s (%d)%s\n", escape(page.name), page.section, comma)
	}
}

func bold(text string) string { return "\\fB" + escape(text) + "\\fR" }

// line is a line of text; one that begins with a dot or a quote would be a
// command.
func line(text string) string {
	text = escape(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

// escape writes a text so that it is shown as it is. A plain hyphen would be
// shown as one that no shell knows.
func escape(text string) string {
	var out strings.Builder
	for _, c := range text {
		switch {
		case c == '\\':
			out.WriteString(`\e`)
		case c == '-':
			out.WriteString(`\-`)
		case c == '\'':
			out.WriteString(`\(aq`)
		case c == '`':
			out.WriteString(`\(ga`)
		case c == '^':
			out.WriteString(`\(ha`)
		case c == '~':
			out.WriteString(`\(ti`)
		case c == '"':
			out.WriteString(`\(dq`)
		case c > '~':
			fmt.Fprintf(&out, `\[u%04X]`, c)
		default:
			out.WriteRune(c)
		}
	}
	return out.String()
}
