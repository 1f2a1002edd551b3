package resolve

import (
	"regexp"

	"github.com/coreos/ignition/v2/config/v3_0"
	"github.com/coreos/ignition/v2/config/v3_1"
	to31 "github.com/coreos/ignition/v2/config/v3_1/translate"
	"github.com/coreos/ignition/v2/config/v3_2"
	to32 "github.com/coreos/ignition/v2/config/v3_2/translate"
	"github.com/coreos/ignition/v2/config/v3_3"
	to33 "github.com/coreos/ignition/v2/config/v3_3/translate"
	"github.com/coreos/ignition/v2/config/v3_4"
	to34 "github.com/coreos/ignition/v2/config/v3_4/translate"
	"github.com/coreos/ignition/v2/config/v3_5"
	to35 "github.com/coreos/ignition/v2/config/v3_5/translate"
	"github.com/coreos/ignition/v2/config/v3_6"
	to36 "github.com/coreos/ignition/v2/config/v3_6/translate"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	types0 "github.com/coreos/ignition/v2/config/v3_0/types"
	types1 "github.com/coreos/ignition/v2/config/v3_1/types"
	types2 "github.com/coreos/ignition/v2/config/v3_2/types"
	types3 "github.com/coreos/ignition/v2/config/v3_3/types"
	types4 "github.com/coreos/ignition/v2/config/v3_4/types"
	types5 "github.com/coreos/ignition/v2/config/v3_5/types"

	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	vreport "github.com/coreos/vcontext/report"
)

// parseAs parses a config of a spec version with the result of v3_6.ParseCompatibleVersion. That
// function tries each older version in turn and decodes the complete text twice per version. For
// a config of spec 3.2, as clusters serve, that took two thirds of the time.
func parseAs(version string, raw []byte) (types.Config, vreport.Report, error) {
	from5 := to36.Translate
	from4 := composeTranslations(to35.Translate, from5)
	from3 := composeTranslations(to34.Translate, from4)
	from2 := composeTranslations(to33.Translate, from3)
	from1 := composeTranslations(to32.Translate, from2)
	from0 := composeTranslations(to31.Translate, from1)
	switch version {
	case types.MaxVersion.String():
		return v3_6.Parse(raw)
	case types5.MaxVersion.String():
		return parse(raw, v3_5.Parse, from5)
	case types4.MaxVersion.String():
		return parse(raw, v3_4.Parse, from4)
	case types3.MaxVersion.String():
		return parse(raw, v3_3.Parse, from3)
	case types2.MaxVersion.String():
		return parse(raw, v3_2.Parse, from2)
	case types1.MaxVersion.String():
		return parse(raw, v3_1.Parse, from1)
	case types0.MaxVersion.String():
		return parse(raw, v3_0.Parse, from0)
	}
	return types.Config{}, vreport.Report{}, ignerrors.ErrUnknownVersion
}

// versionSearchLimit is the number of bytes in which generated configs contain their version.
const versionSearchLimit = 4 << 10

// parseWithFirstVersion parses a config with the first version that the text contains. A reliable search
// would decode the text twice. The parser of each spec rejects other versions, so a wrong guess
// is detected. parseGuessed reports false for a wrong guess and for an invalid config.
func parseWithFirstVersion(raw []byte) (config types.Config, version string, found vreport.Report, ok bool) {
	guess := regexp.MustCompile(`"version"\s*:\s*"(3\.\d+\.0)"`).FindSubmatch(raw[:min(len(raw), versionSearchLimit)])
	if guess == nil {
		return config, "", found, false
	}
	version = string(guess[1])
	config, found, err := parseAs(version, raw)
	return config, version, found, err == nil
}

// parse parses a config of one spec and translates it to the newest spec.
func parse[C any](raw []byte, read func([]byte) (C, vreport.Report, error), translate func(C) types.Config) (types.Config, vreport.Report, error) {
	config, found, err := read(raw)
	if err != nil {
		return types.Config{}, found, err
	}
	return translate(config), found, nil
}

// composeTranslations returns the composition of two translations.
func composeTranslations[A, B, C any](first func(A) B, then func(B) C) func(A) C {
	return func(old A) C { return then(first(old)) }
}
