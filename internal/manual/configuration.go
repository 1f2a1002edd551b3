package manual

import "fmt"

// Configuration is what there is to tell of the configuration file beside its
// settings, which are flags of verbs too.
type Configuration struct {
	Does        string // one line
	Description string
	Example     string   // of a whole file
	See         []string // verbs that show or check it
}

func (t Tool) configurationPage() string { return t.Name + "-config" }

func (t Tool) configuration() string {
	var r roff
	r.begin(t, formats, t.configurationPage(), t.Configuration.Does)
	r.section("SYNOPSIS")
	for _, f := range t.Files {
		if f.Settings {
			r.item("\\fI"+escape(f.Name)+"\\fR", sentence(f.Text))
		}
	}
	r.section("DESCRIPTION")
	r.prose(t.Configuration.Description)
	r.section("SETTINGS")
	for _, f := range t.settings() {
		tag := bold(f.Setting) + ": \\fI" + escape(f.kind()) + "\\fR"
		r.item(tag, fmt.Sprintf("%s Same as --%s and %s.", described(f), f.Name, f.Variable))
	}
	r.section("EXAMPLE")
	r.prose(t.Configuration.Example)
	see := []reference{{t.Name, administration}}
	for _, verb := range t.Configuration.See {
		see = append(see, reference{t.pageName(verb), administration})
	}
	r.see(see...)
	return r.String()
}

// kind is what a setting's value is called.
func (f Flag) kind() string {
	switch {
	case f.Value == "":
		return "true|false"
	case f.List:
		return "[" + f.Value + ", ...]"
	}
	return f.Value
}
