// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"github.com/coreos/ignition/v2/config/v3_2"
	types3_2 "github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/coreos/ignition/v2/config/v3_3"
	translate3_3 "github.com/coreos/ignition/v2/config/v3_3/translate"
	types3_3 "github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/coreos/ignition/v2/config/v3_4"
	translate3_4 "github.com/coreos/ignition/v2/config/v3_4/translate"
	types3_4 "github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/coreos/ignition/v2/config/v3_5"
	translate3_5 "github.com/coreos/ignition/v2/config/v3_5/translate"
	types3_5 "github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/v3_6"
	translate3_6 "github.com/coreos/ignition/v2/config/v3_6/translate"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	vreport "github.com/coreos/vcontext/report"
)

// parser parses a config of one spec and returns a T.
type parser[T any] func(raw []byte) (T, vreport.Report, error)

// parseSpec does the same as v3_6.ParseCompatibleVersion for a config whose version is known. ParseCompatibleVersion
// reads the complete text again for each spec from 3.6 down to the version, only to find the version.
func parseSpec(version string, raw []byte) (types.Config, vreport.Report, error) {
	switch version {
	case types3_2.MaxVersion.String():
		return then(then(then(then(v3_2.Parse, translate3_3.Translate), translate3_4.Translate), translate3_5.Translate),
			translate3_6.Translate)(raw)
	case types3_3.MaxVersion.String():
		return then(then(then(v3_3.Parse, translate3_4.Translate), translate3_5.Translate), translate3_6.Translate)(raw)
	case types3_4.MaxVersion.String():
		return then(then(v3_4.Parse, translate3_5.Translate), translate3_6.Translate)(raw)
	case types3_5.MaxVersion.String():
		return then(v3_5.Parse, translate3_6.Translate)(raw)
	}
	return v3_6.ParseCompatibleVersion(raw) // finds 3.6 at once
}

// then returns a parser that translates the config of another parser.
func then[Old, New any](parse parser[Old], translate func(Old) New) parser[New] {
	return func(raw []byte) (config New, found vreport.Report, err error) {
		old, found, err := parse(raw)
		if err != nil {
			return config, found, err
		}
		return translate(old), found, nil
	}
}
