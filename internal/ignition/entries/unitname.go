package entries

import (
	"path"
	"slices"
	"strings"
)

// cutInstance splits the name of an instance into that of its template and the
// name of the instance alone.
func cutInstance(name string) (template, instance string, is bool) {
	at, dot := strings.Index(name, "@"), strings.LastIndex(name, ".")
	if at < 0 || dot <= at+1 {
		return name, "", false
	}
	return name[:at+1] + name[dot:], name[at+1 : dot], true
}

// withInstance gives a template the instance that another unit has.
func withInstance(template, unit string) string {
	_, instance, is := cutInstance(unit)
	stem, suffix, found := strings.Cut(template, "@.")
	if !is || !found {
		return template
	}
	return stem + "@" + instance + "." + suffix
}

// form tells plain names, templates and instances apart.
func form(name string) string {
	_, _, instance := cutInstance(name)
	switch {
	case instance:
		return "instance"
	case strings.Contains(name, "@"):
		return "template"
	}
	return "plain"
}

// validAlias tells whether systemd takes a link of this name, to a unit of
// another name, as an alias. One that it does not take hides the unit.
func validAlias(name, target string) bool {
	if !mayAlias(name) || name == target || path.Ext(name) != path.Ext(target) || !isUnitName(target) {
		return false
	}
	_, own, _ := cutInstance(name)
	_, other, _ := cutInstance(target)
	switch form(target) {
	case "instance":
		return form(name) == "instance" && own == other
	case "template":
		return form(name) != "plain"
	}
	return form(name) == "plain"
}

// mayAlias: the name of some units follows from what they are about.
func mayAlias(name string) bool {
	return !slices.Contains([]string{".mount", ".automount", ".swap", ".slice", ".scope"}, path.Ext(name))
}

// isUnitName tells whether systemd would take a name for that of a unit.
func isUnitName(name string) bool {
	switch path.Ext(name) {
	case ".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer", ".slice", ".scope":
		return len(name) <= 255
	}
	return false
}
