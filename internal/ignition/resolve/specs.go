// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"sync"

	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/util"
	types3_2 "github.com/coreos/ignition/v2/config/v3_2/types"
	translate3_3 "github.com/coreos/ignition/v2/config/v3_3/translate"
	types3_3 "github.com/coreos/ignition/v2/config/v3_3/types"
	translate3_4 "github.com/coreos/ignition/v2/config/v3_4/translate"
	types3_4 "github.com/coreos/ignition/v2/config/v3_4/types"
	translate3_5 "github.com/coreos/ignition/v2/config/v3_5/translate"
	types3_5 "github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/v3_6"
	translate3_6 "github.com/coreos/ignition/v2/config/v3_6/translate"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/ignition/v2/config/validate"
	vreport "github.com/coreos/vcontext/report"
)

// parseSpec does the same as v3_6.ParseCompatibleVersion for a config whose version is known. ParseCompatibleVersion
// reads the complete text again for each spec from 3.6 down to the version, only to find the version.
func parseSpec(version string, raw []byte) (types.Config, vreport.Report, error) {
	switch version {
	case types3_2.MaxVersion.String():
		return parseOld(raw, from3_2)
	case types3_3.MaxVersion.String():
		return parseOld(raw, from3_3)
	case types3_4.MaxVersion.String():
		return parseOld(raw, from3_4)
	case types3_5.MaxVersion.String():
		return parseOld(raw, translate3_6.Translate)
	}
	return v3_6.ParseCompatibleVersion(raw) // finds 3.6 at once
}

func from3_2(config types3_2.Config) types.Config { return from3_3(translate3_3.Translate(config)) }

func from3_3(config types3_3.Config) types.Config { return from3_4(translate3_4.Translate(config)) }

func from3_4(config types3_4.Config) types.Config {
	return translate3_6.Translate(translate3_5.Translate(config))
}

// parseOld parses and validates a config of an older spec, as the function Parse of the spec, and translates
// the config. The translation copies any config, valid or not, and runs at the same time as the validation.
func parseOld[Config any](
	raw []byte, translate func(Config) types.Config,
) (translated types.Config, found vreport.Report, err error) {
	var old Config
	if found, err = util.HandleParseErrors(raw, &old); err != nil {
		return translated, found, err
	}
	var translation sync.WaitGroup
	translation.Go(func() { translated = translate(old) })
	found = validate.ValidateWithContext(old, raw)
	translation.Wait()
	if found.IsFatal() {
		return types.Config{}, found, ignerrors.ErrInvalid
	}
	return translated, found, nil
}
