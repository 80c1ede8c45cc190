package store

import (
	"context"
	"reflect"
	"strings"
	"time"

	"gorm.io/gorm/schema"
)

// registerSerializers registers how to store field types that the databases do not
// have. The tag of a row's field names its serializer.
func registerSerializers() {
	schema.RegisterSerializer("words", serializer{wordsOf, setWords})
	schema.RegisterSerializer("optional", serializer{optional, setText})
	schema.RegisterSerializer("text", serializer{func(v reflect.Value) any { return string(v.Bytes()) }, setOctets})
	schema.RegisterSerializer("hash", serializer{hashOf, setHash})
	schema.RegisterSerializer("milliseconds", duration(time.Millisecond))
	schema.RegisterSerializer("microseconds", duration(time.Microsecond))
}

// serializer is a GORM serializer made of two functions. It reads NULL as the zero value.
type serializer struct {
	encode func(field reflect.Value) any
	decode func(field reflect.Value, stored any)
}

// Scan implements schema.SerializerInterface.
func (s serializer) Scan(ctx context.Context, f *schema.Field, row reflect.Value, stored any) error {
	field := f.ReflectValueOf(ctx, row)
	field.SetZero()
	if stored != nil {
		s.decode(field, stored)
	}
	return nil
}

// Value implements schema.SerializerValuerInterface.
func (s serializer) Value(_ context.Context, _ *schema.Field, _ reflect.Value, value any) (any, error) {
	return s.encode(reflect.ValueOf(value)), nil
}

// octets returns a copy of a text or binary value.
func octets(stored any) []byte {
	switch v := stored.(type) {
	case string:
		return []byte(v)
	case []byte:
		return append([]byte(nil), v...)
	}
	return nil
}

// wordsOf writes a list of words separated by spaces.
func wordsOf(list reflect.Value) any {
	words := make([]string, list.Len())
	for i := range words {
		words[i] = list.Index(i).String()
	}
	return strings.Join(words, " ")
}

func setWords(field reflect.Value, stored any) {
	for word := range strings.FieldsSeq(string(octets(stored))) {
		field.Set(reflect.Append(field, reflect.ValueOf(word).Convert(field.Type().Elem())))
	}
}

// optional writes an empty text as NULL.
func optional(text reflect.Value) any {
	if text.Len() == 0 {
		return nil
	}
	return text.String()
}

func setText(field reflect.Value, stored any)   { field.SetString(string(octets(stored))) }
func setOctets(field reflect.Value, stored any) { field.SetBytes(octets(stored)) }

func hashOf(array reflect.Value) any {
	hash := make([]byte, array.Len())
	reflect.Copy(reflect.ValueOf(hash), array)
	return hash
}

// setHash copies the bytes to an array. A CHECK of the column guarantees the length.
func setHash(field reflect.Value, stored any) { reflect.Copy(field, reflect.ValueOf(octets(stored))) }

// duration stores a time.Duration as a number of units.
func duration(unit time.Duration) serializer {
	return serializer{
		func(d reflect.Value) any { return d.Int() / int64(unit) },
		func(field reflect.Value, stored any) {
			n, _ := stored.(int64)
			field.SetInt(n * int64(unit))
		},
	}
}
