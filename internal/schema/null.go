// SPDX-License-Identifier: Apache-2.0

package schema

import "reflect"

// WithoutNull returns a copy of a document in which nil slices and maps are empty, so that they are
// encoded as [] and {} and not as null. The document itself is not modified.
func WithoutNull(document any) any {
	if document == nil {
		return nil
	}
	return withoutNull(reflect.ValueOf(document)).Interface()
}

func withoutNull(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			break
		}
		pointer := reflect.New(v.Type().Elem())
		pointer.Elem().Set(withoutNull(v.Elem()))
		return pointer
	case reflect.Interface:
		if !v.IsNil() {
			return withoutNull(v.Elem())
		}
	case reflect.Struct:
		copied := reflect.New(v.Type()).Elem()
		copied.Set(v)
		for i := range v.NumField() {
			if field := copied.Field(i); field.CanSet() {
				field.Set(withoutNull(field))
			}
		}
		return copied
	case reflect.Slice:
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			copied.Index(i).Set(withoutNull(v.Index(i)))
		}
		return copied
	case reflect.Map:
		copied := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() {
			copied.SetMapIndex(key, withoutNull(v.MapIndex(key)))
		}
		return copied
	}
	return v
}
