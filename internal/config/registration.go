// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Taint is a taint with which a Node is registered.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// String returns the taint in the format of kubelet and oc.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

// ParseLabel parses KEY=VALUE according to the API server's rules. VALUE can be empty. The error
// does not contain the text.
func ParseLabel(text string) (key, value string, err error) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return "", "", errors.New("must be KEY=VALUE")
	}
	if err := checkKey(key); err != nil {
		return "", "", err
	}
	return key, value, checkValue(value)
}

// ParseTaint parses KEY=VALUE:EFFECT or KEY:EFFECT according to the API server's rules. The error
// does not contain the text.
func ParseTaint(text string) (Taint, error) {
	left, effect, found := strings.Cut(text, ":")
	if !found {
		return Taint{}, errors.New("must be KEY[=VALUE]:EFFECT")
	}
	key, value, _ := strings.Cut(left, "=")
	switch effect {
	case "NoSchedule", "PreferNoSchedule", "NoExecute":
	default:
		return Taint{}, fmt.Errorf("the effect %q must be one of NoSchedule, PreferNoSchedule, NoExecute", effect)
	}
	if err := checkKey(key); err != nil {
		return Taint{}, err
	}
	return Taint{Key: key, Value: value, Effect: effect}, checkValue(value)
}

func checkKey(key string) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("invalid key %q: %s", key, problems[0])
	}
	return nil
}

func checkValue(value string) error {
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return fmt.Errorf("invalid value %q: %s", value, problems[0])
	}
	return nil
}

func checkLabel(text string) error {
	_, _, err := ParseLabel(text)
	return err
}

func checkTaint(text string) error {
	_, err := ParseTaint(text)
	return err
}
