// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import "testing"

func units(list string) string { return spec("3.4.0", `"systemd":{"units":[`+list+`]}`) }

func TestUnits(t *testing.T) { runAll(t, unitScenarios()) }

func unitScenarios() []scenario {
	const unit = `"contents":"[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"`
	wants := []Node{
		{Path: "/etc/systemd/system/multi-user.target.wants/there.service", Link: "/usr/lib/systemd/system/there.service"},
	}
	masked := []Node{{Path: "/etc/systemd/system/a.service", Link: "/dev/null"}}
	mine := []Node{{Path: "/etc/systemd/system/a.service", Content: "[Service]\n", Mode: 0o600, UID: 7, Xattr: "x"}}
	preset := []Node{
		{Path: "/etc/systemd/system-preset/20-ignition.preset", Content: "enable other.service\n", Mode: 0o600, UID: 7},
	}
	return []scenario{
		{name: "a unit", config: units(`{"name":"a.service",` + unit + `}`)},
		{name: "enabled", config: units(`{"name":"a.service","enabled":true,` + unit + `}`)},
		{
			name: "several, in order of names",
			config: units(`{"name":"c.service","enabled":true,` + unit +
				`},{"name":"a.timer","enabled":true},{"name":"b.socket","enabled":true}`),
		},
		{name: "enabled without contents", config: units(`{"name":"there.service","enabled":true}`)},
		{name: "disabled and not enabled", config: units(`{"name":"there.service","enabled":false}`)},
		{name: "disabled and enabled", tree: wants, config: units(`{"name":"there.service","enabled":false}`)},
		{name: "disabled and new", config: units(`{"name":"a.service","enabled":false,` + unit + `}`)},
		{name: "disabled and not known", config: units(`{"name":"nowhere.service","enabled":false}`)},
		{
			name:   "disabled and enabled and changed",
			tree:   wants,
			config: units(`{"name":"there.service","enabled":false,` + unit + `}`),
		},
		{
			name:   "disabled and masked",
			tree:   append(wants, Node{Path: "/etc/systemd/system/there.service", Link: "/dev/null"}),
			config: units(`{"name":"there.service","enabled":false}`),
		},
		{name: "a preset exists", tree: preset, config: units(`{"name":"a.service","enabled":true,` + unit + `}`)},
		{
			name: "a preset contains the line", tree: preset, difference: differsRerun,
			config:         units(`{"name":"other.service","enabled":true},{"name":"a.service","enabled":true}`),
			ignitionConfig: units(`{"name":"a.service","enabled":true}`),
		},
		{
			name: "a preset is written too",
			config: spec("3.4.0",
				`"storage":{"files":[{"path":"/etc/systemd/system-preset/20-ignition.preset",
					"contents":{"source":"data:,disable%20x%0A"}}]},"systemd":{"units":[{"name":"a.service","enabled":true}]}`),
		},
		{name: "empty contents", config: units(`{"name":"a.service","contents":""}`)},
		{name: "empty contents, masked there", tree: masked, config: units(`{"name":"a.service","contents":""}`)},
		{name: "replaced", tree: mine, config: units(`{"name":"a.service",` + unit + `}`)},
		{name: "replaces a mask", tree: masked, config: units(`{"name":"a.service",` + unit + `}`)},
		{
			name:     "a directory in the way",
			tree:     []Node{{Path: "/etc/systemd/system/a.service/x"}},
			config:   units(`{"name":"a.service",` + unit + `}`),
			bothFail: "a.service",
		},
		{name: "masked", config: units(`{"name":"a.service","mask":true}`)},
		{
			name:   "masked with contents",
			config: units(`{"name":"a.service","mask":true,` + unit + `,"dropins":[{"name":"1.conf","contents":"[Unit]\n"}]}`),
		},
		{name: "masked, exists", tree: mine, config: units(`{"name":"a.service","mask":true}`)},
		{
			name:   "masked, a tree exists",
			tree:   []Node{{Path: "/etc/systemd/system/a.service/x/y"}},
			config: units(`{"name":"a.service","mask":true}`),
		},
		{name: "masked already", tree: masked, config: units(`{"name":"a.service","mask":true}`)},
		{name: "masked and enabled", config: units(`{"name":"a.service","mask":true,"enabled":true}`)},
		{name: "unmasked", tree: masked, config: units(`{"name":"a.service","mask":false}`)},
		{name: "unmasked, is a unit", tree: mine, config: units(`{"name":"a.service","mask":false}`)},
		{name: "unmasked, does not exist", config: units(`{"name":"a.service","mask":false,"enabled":true}`)},
		{
			name:   "unmasked, is another link",
			tree:   []Node{{Path: "/etc/systemd/system/a.service", Link: "/usr/lib/systemd/system/there.service"}},
			config: units(`{"name":"a.service","mask":false}`),
		},
		{name: "unmasked with contents", tree: masked, config: units(`{"name":"a.service","mask":false,` + unit + `}`)},
		{
			name: "drop-ins",
			config: units(`{"name":"a.service","dropins":[{"name":"10-a.conf","contents":"[Service]\nEnvironment=A=1\n"},
				{"name":"20-b.conf","contents":""},{"name":"30-c.conf"}]}`),
		},
		{
			name:   "a drop-in exists",
			tree:   []Node{{Path: "/etc/systemd/system/a.service.d/1.conf", Content: "x", Mode: 0o600}},
			config: units(`{"name":"a.service","dropins":[{"name":"1.conf","contents":"[Unit]\n"}]}`),
		},
		{name: "an instance", config: units(`{"name":"many@one.service","enabled":true}`)},
		{
			name: "instances",
			config: units(`{"name":"many@two.service","enabled":true},{"name":"many@one.service","enabled":true},
				{"name":"other@x.service","enabled":true,` + unit + `}`),
		},
		{
			name: "instances, disabled",
			tree: []Node{
				{
					Path: "/etc/systemd/system/multi-user.target.wants/many@one.service",
					Link: "/usr/lib/systemd/system/many@.service",
				},
			},
			config: units(`{"name":"many@one.service","enabled":false},{"name":"many@two.service","enabled":true}`),
		},
		{name: "a template", config: units(`{"name":"new@.service","enabled":true,` + unit + `}`)},
		{
			name:   "a template that is installed",
			config: units(`{"name":"many@.service","enabled":true},{"name":"many@one.service","enabled":true}`),
		},
		{name: "no such type", config: units(`{"name":"a.wrong",` + unit + `}`), bothFail: "systemd"},
		{name: "no unit at all", config: units(`{"name":"a.service","contents":"[Service\nx"}`), bothFail: "unit content"},
		{
			name:     "a drop-in without .conf",
			config:   units(`{"name":"a.service","dropins":[{"name":"1","contents":"[Unit]\n"}]}`),
			bothFail: "conf",
		},
	}
}
