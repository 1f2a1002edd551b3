// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"
)

// encodeVariant returns "SIGNATURE GVARIANT-TEXT". It fails for a value that could not be decoded
// to the same value.
func encodeVariant(v dbus.Variant) (string, error) {
	signature := v.Signature().String()
	text := signature + " " + strings.TrimPrefix(v.String(), "@"+signature+" ")
	back, err := decodeVariant(text)
	if err != nil {
		return "", err
	}
	if back.Signature() != v.Signature() || back.String() != v.String() {
		return "", fmt.Errorf("a value of type %s cannot be saved", signature)
	}
	return text, nil
}

// decodeVariant parses what encodeVariant returned. It does not use dbus.ParseVariant, which
// (5.2.2) takes hexadecimal numbers with the digit e for floating-point numbers, and neither
// accepts lists of empty lists nor escaped characters.
func decodeVariant(text string) (dbus.Variant, error) {
	signature, value, _ := strings.Cut(text, " ")
	p := variantParser{rest: value}
	v, err := p.parse(signature)
	if err == nil && p.rest != "" {
		err = fmt.Errorf("unexpected text %q", p.rest)
	}
	if err != nil {
		return dbus.Variant{}, fmt.Errorf("reading a value of type %q: %w", signature, err)
	}
	return dbus.MakeVariant(v.Interface()), nil
}

// variantParser parses the text of a value, in the form of dbus.Variant.String.
type variantParser struct{ rest string }

// basicTypes are the types without elements, by signature.
var basicTypes = map[string]reflect.Type{
	"b": reflect.TypeFor[bool](),
	"y": reflect.TypeFor[byte](),
	"n": reflect.TypeFor[int16](), "q": reflect.TypeFor[uint16](),
	"i": reflect.TypeFor[int32](), "u": reflect.TypeFor[uint32](),
	"x": reflect.TypeFor[int64](), "t": reflect.TypeFor[uint64](),
	"d": reflect.TypeFor[float64](),
	"s": reflect.TypeFor[string](), "o": reflect.TypeFor[dbus.ObjectPath](),
	"v": reflect.TypeFor[dbus.Variant](),
}

// typeOf returns the type of a signature. Structures are not supported.
func typeOf(signature string) (reflect.Type, error) {
	if basic, ok := basicTypes[signature]; ok {
		return basic, nil
	}
	element, isArray := strings.CutPrefix(signature, "a")
	if !isArray {
		return nil, fmt.Errorf("the type %q is not supported", signature)
	}
	value, isMap := strings.CutPrefix(element, "{s")
	value = strings.TrimSuffix(value, "}")
	if !isMap {
		value = element
	}
	of, err := typeOf(value)
	switch {
	case err != nil:
		return nil, err
	case isMap:
		return reflect.MapOf(reflect.TypeFor[string](), of), nil
	}
	return reflect.SliceOf(of), nil
}

func (p *variantParser) parse(signature string) (reflect.Value, error) {
	kind, err := typeOf(signature)
	if err != nil {
		return reflect.Value{}, err
	}
	v := reflect.New(kind).Elem()
	switch {
	case signature == "v":
		return p.parseVariant()
	case kind.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(kind, 0, 0))
		return v, p.parseElements("[", "]", func() error {
			element, err := p.parse(signature[1:])
			if err == nil {
				v.Set(reflect.Append(v, element))
			}
			return err
		})
	case kind.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(kind))
		return v, p.parseElements("{", "}", func() error {
			key, err := p.parse("s")
			if err == nil {
				err = p.skip(": ")
			}
			if err != nil {
				return err
			}
			element, err := p.parse(strings.TrimSuffix(signature[3:], "}"))
			if err == nil {
				v.SetMapIndex(key, element)
			}
			return err
		})
	case kind.Kind() == reflect.String:
		quoted, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			return v, fmt.Errorf("%q does not begin with a string", p.rest)
		}
		p.rest = p.rest[len(quoted):]
		text, err := strconv.Unquote(quoted)
		v.SetString(text)
		return v, err
	}
	return v, p.parseWord(v)
}

// parseWord parses a truth value or a number.
func (p *variantParser) parseWord(v reflect.Value) error {
	end := strings.IndexAny(p.rest+",", ",]}>")
	word := p.rest[:end]
	p.rest = p.rest[end:]
	bits := 64
	if v.Kind() != reflect.Bool {
		bits = v.Type().Bits()
	}
	var err error
	switch {
	case v.Kind() == reflect.Bool:
		var is bool
		is, err = strconv.ParseBool(word)
		v.SetBool(is)
	case v.CanInt():
		var number int64
		number, err = strconv.ParseInt(word, 0, bits)
		v.SetInt(number)
	case v.CanUint():
		var number uint64
		number, err = strconv.ParseUint(word, 0, bits)
		v.SetUint(number)
	default:
		var number float64
		number, err = strconv.ParseFloat(word, bits)
		v.SetFloat(number)
	}
	return err
}

// parseElements calls parse for each element between the brackets.
func (p *variantParser) parseElements(begin, end string, parse func() error) error {
	if err := p.skip(begin); err != nil {
		return err
	}
	for first := true; !strings.HasPrefix(p.rest, end); first = false {
		if !first {
			if err := p.skip(", "); err != nil {
				return err
			}
		}
		if err := parse(); err != nil {
			return err
		}
	}
	return p.skip(end)
}

func (p *variantParser) parseVariant() (reflect.Value, error) {
	if err := p.skip("<"); err != nil {
		return reflect.Value{}, err
	}
	signature := inferSignature(p.rest)
	if annotated, isAnnotated := strings.CutPrefix(p.rest, "@"); isAnnotated {
		signature, p.rest, _ = strings.Cut(annotated, " ")
	}
	inner, err := p.parse(signature)
	if err == nil {
		err = p.skip(">")
	}
	if err != nil {
		return reflect.Value{}, err
	}
	return reflect.ValueOf(dbus.MakeVariant(inner.Interface())), nil
}

// inferSignature returns the signature of a value whose text has none, because it follows from the
// first element.
func inferSignature(text string) string {
	if text == "" {
		return ""
	}
	switch text[:1] {
	case `"`:
		return "s"
	case "t", "f":
		return "b"
	case "<":
		return "v"
	case "[":
		return "a" + inferSignature(text[1:])
	case "{":
		key, _ := strconv.QuotedPrefix(text[1:])
		return "a{s" + inferSignature(strings.TrimPrefix(text[1+len(key):], ": ")) + "}"
	}
	return "i"
}

func (p *variantParser) skip(text string) error {
	rest, found := strings.CutPrefix(p.rest, text)
	if !found {
		return fmt.Errorf("%q does not begin with %q", p.rest, text)
	}
	p.rest = rest
	return nil
}
