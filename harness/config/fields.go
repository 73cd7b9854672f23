package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tags are the keys that the fields of a struct name, in their order.
func tags(of any) (keys []string) {
	t := reflect.TypeOf(of).Elem()
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// under reads the mapping under a key into the struct that into points to; more are keys
// that it may have besides. False: the key is absent.
func (s section) under(key string, into any, more ...string) (section, bool) {
	n := s.get(key)
	if n == nil {
		return section{}, false
	}
	in := s.c.section(n, JoinPath(s.path, key), append(tags(into), more...)...)
	in.fill(into)
	return in, true
}

// fill reads those keys of a section that the fields of a struct name. A field whose key is
// absent keeps what it holds: its default. Tags:
//
//	yaml:"key"         the key; yaml:"key,needed" where it has to be there
//	range:"1..512"     limits of a number; those of durations are always the same
//	unit:"s"           a duration that is written as a number
//	or:"none"          the word for no value: nil, or a duration of 0
func (s section) fill(into any) {
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		key, how, _ := strings.Cut(tag.Get("yaml"), ",")
		if !slices.Contains(s.keys, key) {
			continue
		}
		if how == "needed" {
			s.need(key)
		}
		if v.Field(i).Kind() == reflect.Pointer {
			s.pointer(key, tag, v.Field(i))
		} else {
			s.field(key, tag, v.Field(i), false)
		}
	}
}

// pointer is a field that is nil where there is no value.
func (s section) pointer(key string, tag reflect.StructTag, f reflect.Value) {
	n, or := s.get(key), tag.Get("or")
	if or != "" {
		r := Rule{Type: Whole, Names: []string{or}}
		r.Least, r.Most, _ = strings.Cut(tag.Get("range"), "..")
		if f.IsNil() {
			r.Default = or
		}
		s.asks(key, r)
		if n != nil && n.Kind == isText && n.Raw == or {
			f.SetZero()
			return
		}
	}
	to := reflect.New(f.Type().Elem())
	if !f.IsNil() {
		to.Elem().Set(f.Elem())
	}
	s.field(key, tag, to.Elem(), f.IsNil())
	if n != nil { // whatever it is: it is there
		f.Set(to)
	}
}

// field is one that holds its default; bare: it has none.
func (s section) field(key string, tag reflect.StructTag, f reflect.Value, bare bool) {
	var limits [2]float64
	if lo, hi, ok := strings.Cut(tag.Get("range"), ".."); ok {
		for i, text := range []string{lo, hi} {
			var err error
			if limits[i], err = strconv.ParseFloat(text, 64); err != nil {
				panic(fmt.Sprintf("config: internal error: range of %s: %v", key, err))
			}
		}
	}
	least, most := limits[0], limits[1]
	switch to := f.Addr().Interface().(type) {
	case *int, *int64:
		def := int(f.Int())
		if bare {
			def = int(least) - 1
		}
		v := s.whole(key, def, int(least), int(most))
		if bare && v == def { // absent or wrong, which is said once
			v = int(most)
		}
		f.SetInt(int64(v))
	case *float64:
		*to = s.number(key, *to, least, most)
	case *time.Duration:
		if tag.Get("unit") == "s" {
			*to = time.Duration(s.number(key, to.Seconds(), least, most) * float64(time.Second))
		} else {
			*to = s.duration(key, *to, tag.Get("or") != "")
		}
	case *bool:
		if v := s.flag(key); v != nil {
			*to = *v
		}
	case *string:
		if w, ok := s.text(key); ok {
			*to = w.text
		}
	default:
		s.under(key, to)
	}
}
