// SPDX-License-Identifier: Apache-2.0

package hostrules

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// MatchFile is a .link file, or a file with udev rules, that matches an interface by its MAC alone.
type MatchFile struct {
	Path   string `json:"path"`
	MAC    string `json:"mac"`              // as the file contains it
	Driver string `json:"driver,omitempty"` // of the uplink; "" if it has none
}

// remedy restricts the file to the uplink.
func (f MatchFile) remedy() report.Remedy {
	file := report.ShellWord(f.Path)
	switch {
	case !strings.HasSuffix(f.Path, ".link"):
		return report.Remedyf(`sed -i 's/ATTR{address}=="%s"/KERNEL!="br-ex", &/' %s`, f.MAC, file)
	case f.Driver == "":
		return report.Remedyf("cat %s # add OriginalName= or Driver= of the uplink to its section [Match]", file)
	}
	return report.Remedyf(`sed -i '/^\[Match\]/a Driver=%s' %s`, f.Driver, file)
}

// readLines calls visit with each line of the files that match patterns.
func readLines(visit func(file, line string), patterns ...string) {
	for _, pattern := range patterns {
		files, _ := filepath.Glob(pattern) // the patterns are valid
		for _, file := range files {
			content, _ := os.ReadFile(file)
			for line := range strings.Lines(string(content)) {
				visit(file, strings.TrimSpace(line))
			}
		}
	}
}

// namedFiles returns the files that match patterns, in the order of systemd-sysctl: by name, without those whose name
// an earlier pattern contains.
func namedFiles(patterns ...string) []string {
	byName := map[string]string{}
	for _, pattern := range patterns {
		files, _ := filepath.Glob(pattern) // the patterns are valid
		for _, file := range files {
			if name := filepath.Base(file); byName[name] == "" {
				byName[name] = file
			}
		}
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		files = append(files, byName[name])
	}
	return files
}

// readSysctls returns the settings of an interface in files as sysctl.d(5) describes them, with br-ex in place of the
// interface. Settings that the files contain for br-ex are not included. The last file with a setting has precedence.
func readSysctls(link string, files ...string) []string {
	var found, present []string
	readLines(func(_, line string) {
		name, value, isSetting := strings.Cut(strings.TrimPrefix(line, "-"), "=")
		name = strings.TrimSpace(name)
		if !isSetting || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			return
		}
		parts := strings.Split(hostinfo.SysctlPath(name), "/")
		if len(parts) != 5 || parts[0] != "net" {
			return
		}
		setting := strings.Join([]string{parts[0], parts[1], parts[2], bridge, parts[4]}, ".") + " = "
		isSame := func(other string) bool { return strings.HasPrefix(other, setting) }
		isOfBridge, _ := path.Match(parts[3], bridge)
		isOfLink, _ := path.Match(parts[3], link)
		switch {
		case parts[3] == bridge:
			present = append(present, setting)
		case isOfLink && !isOfBridge: // a pattern for both has no precedence over the name
			found = append(slices.DeleteFunc(found, isSame), setting+strings.TrimSpace(value))
		}
	}, files...)
	return slices.DeleteFunc(found, func(setting string) bool {
		return slices.ContainsFunc(present, func(prefix string) bool { return strings.HasPrefix(setting, prefix) })
	})
}

// readScripts returns the files that name a link, and the files with routing rules that the scripts of
// NetworkManager-dispatcher-routing-rules apply together with an ifcfg file.
func readScripts(link, profile string, patterns ...string) []string {
	files := filesWithName(link, nil, patterns...)
	if ifcfg, isIfcfg := strings.CutPrefix(filepath.Base(profile), "ifcfg-"); isIfcfg {
		for _, prefix := range []string{"rule-", "rule6-"} {
			found, _ := filepath.Glob(filepath.Join(filepath.Dir(profile), prefix+ifcfg))
			files = append(files, found...)
		}
	}
	return files
}

// filesWithName returns the files in which a line names a link. With keys, only lines that begin with one count.
func filesWithName(link string, keys []string, patterns ...string) []string {
	var files []string
	name := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(link) + `($|[^\w.-])`)
	readLines(func(file, line string) {
		hasKey := slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(line, key) })
		if !strings.HasPrefix(line, "#") && (len(keys) == 0 || hasKey) && name.MatchString(line) {
			files = lists.AppendMissing(files, file)
		}
	}, patterns...)
	return files
}

// bindings lists the settings with which units and chronyd use only one interface.
var bindings = []string{"RestrictNetworkInterfaces", "bindacqdevice", "binddevice", "bindcmddevice"}

// restrictions lists the keys of a .link file and of a udev rule that br-ex does not match. Type=ether is none.
var restrictions = []string{
	"Path=", "Driver=", "OriginalName=", "PermanentMACAddress=", "Property=", "Kind=",
	"DRIVERS==", "KERNELS==", "KERNEL==", "KERNEL!=", "SUBSYSTEMS==", "ATTRS{", "ENV{",
}

// readMatchFiles returns the .link files and the files with udev rules that set the name or other properties of each
// interface with a MAC.
func readMatchFiles(mac string, patterns ...string) []MatchFile {
	var files []MatchFile
	restricted := map[string]bool{} // .link files: their keys are in lines of their own
	readLines(func(file, line string) {
		if mac == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			return
		}
		isLink := filepath.Ext(file) == ".link"
		if key, value, isSetting := strings.Cut(line, "="); isLink && isSetting {
			line = strings.TrimSpace(key) + "=" + strings.TrimSpace(value)
		}
		isRestricted := slices.ContainsFunc(restrictions, func(key string) bool {
			return strings.HasPrefix(line, key) || !isLink && strings.Contains(line, key)
		})
		restricted[file] = restricted[file] || isLink && isRestricted
		at := strings.Index(strings.ToLower(line), strings.ToLower(mac))
		matches := strings.HasPrefix(line, "MACAddress=")
		if !isLink {
			matches = strings.Contains(line, "ATTR{address}==") &&
				(strings.Contains(line, "NAME=") || strings.Contains(line, "NAME:="))
		}
		if at >= 0 && matches && !isRestricted {
			files = append(files, MatchFile{Path: file, MAC: line[at : at+len(mac)]})
		}
	}, patterns...)
	return slices.DeleteFunc(files, func(file MatchFile) bool { return restricted[file.Path] })
}
