package config

import (
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

// ParseLabel parses KEY=VALUE according to the API server's rules. VALUE can be empty.
func ParseLabel(text string) (key, value string, err error) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return "", "", fmt.Errorf("%q is not KEY=VALUE", text)
	}
	if err := checkKey(text, key); err != nil {
		return "", "", err
	}
	return key, value, checkValue(text, value)
}

// ParseTaint parses KEY=VALUE:EFFECT or KEY:EFFECT according to the API server's rules.
func ParseTaint(text string) (Taint, error) {
	left, effect, found := strings.Cut(text, ":")
	if !found {
		return Taint{}, fmt.Errorf("%q is not KEY[=VALUE]:EFFECT", text)
	}
	key, value, _ := strings.Cut(left, "=")
	switch effect {
	case "NoSchedule", "PreferNoSchedule", "NoExecute":
	default:
		return Taint{}, fmt.Errorf("%q: the effect is %q; valid effects: NoSchedule, PreferNoSchedule, NoExecute", text, effect)
	}
	if err := checkKey(text, key); err != nil {
		return Taint{}, err
	}
	return Taint{Key: key, Value: value, Effect: effect}, checkValue(text, value)
}

func checkKey(text, key string) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("%q: invalid key %q: %s", text, key, problems[0])
	}
	return nil
}

func checkValue(text, value string) error {
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return fmt.Errorf("%q: invalid value %q: %s", text, value, problems[0])
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
