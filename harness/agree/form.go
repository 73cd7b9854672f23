package agree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/harness/judge"
	"assay/harness/study"
	"assay/results/rating"
)

// A form is made from a rubric:
//
//   - A rubric that takes a number is one field, its grades.
//   - Of the schema of a verdict, whole numbers in a range, booleans and enums are a field
//     each; free text is left out, and "" in the verdict.
//   - A list of objects that has one of them for each stretch of text of the case
//     ("steps": [{"step": 1, ...}] for the case's "steps": ["..."], or for its lists named
//     "sentences" within objects that have a name) is fields for each of them.
//
// What a rubric asks beside that, such as to cut a text into steps, no form asks.

// schema is what is read of a JSON Schema.
type schema struct {
	Type       any               `json:"type"`
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Enum       []string          `json:"enum"`
	Minimum    *float64          `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
}

// unit is a stretch of text that a verdict has an object for.
type unit struct {
	keys map[string]any // the properties that name it
	name string         // for people
	text string
}

// form is the fields of one rubric for one case.
type form struct {
	rubric judge.Rubric
	schema schema
	list   string // the property that has an object for each unit; "": none
	units  []unit
	fields []rating.Field
}

// formOf makes the form of a rubric for a case; false: it has nothing that a form asks.
func formOf(r judge.Rubric, fields json.RawMessage, asks map[string]study.Ask) (form, bool) {
	f := form{rubric: r}
	if r.Number != nil {
		if !r.Number.Whole {
			return f, false
		}
		f.fields = []rating.Field{storeGraded(r.Name, r.Name, r.Number.Low, r.Number.High, asks[r.Name])}
		return f, true
	}
	if json.Unmarshal(r.Schema, &f.schema) != nil {
		return f, false
	}
	for _, name := range f.schema.Required {
		p := f.schema.Properties[name]
		if field, ok := storeFieldOf(p, r.Name+"/"+name, r.Name+"."+name, label(name), asks); ok {
			f.fields = append(f.fields, field)
			continue
		}
		if p.Type == "array" && p.Items != nil && f.list == "" {
			f.ofUnits(name, *p.Items, fields, asks)
		}
	}
	return f, len(f.fields) > 0
}

// ofUnits adds the fields of each unit of a case.
func (f *form) ofUnits(list string, item schema, fields json.RawMessage, asks map[string]study.Ask) {
	number := strings.TrimSuffix(list, "s")
	if number == list || item.Properties[number].Type != "integer" {
		return
	}
	f.units, f.list = unitsOf(list, number, item, fields), list
	for i, u := range f.units {
		first := true
		for _, name := range item.Required {
			if _, key := u.keys[name]; key {
				continue
			}
			axis := f.rubric.Name + "." + name
			field, ok := storeFieldOf(item.Properties[name], fmt.Sprintf("%s/%d/%s", f.rubric.Name, i+1, name), axis, label(name), asks)
			if !ok {
				continue
			}
			field.Title = u.name + ": " + field.Title
			if first {
				field.About, first = u.text, false
			}
			if i > 0 {
				field.Help = "" // said once
			}
			f.fields = append(f.fields, field)
		}
	}
}

// unitsOf finds the texts that a list has an object for.
func unitsOf(list, number string, item schema, fields json.RawMessage) []unit {
	var all map[string]json.RawMessage
	if json.Unmarshal(fields, &all) != nil {
		return nil
	}
	var out []unit
	var texts []string
	if json.Unmarshal(all[list], &texts) == nil {
		for i, s := range texts {
			out = append(out, unit{map[string]any{number: i + 1}, fmt.Sprintf("%s %d", label(number), i+1), s})
		}
		return out
	}
	for group, p := range item.Properties { // one enum names the part that a text is of
		if len(p.Enum) == 0 {
			continue
		}
		var parts []map[string]json.RawMessage
		if json.Unmarshal(all[group+"s"], &parts) != nil {
			continue
		}
		for _, part := range parts {
			var name string
			var texts []string
			if json.Unmarshal(part["name"], &name) != nil || json.Unmarshal(part[list], &texts) != nil || !slices.Contains(p.Enum, name) {
				continue
			}
			for i, s := range texts {
				out = append(out, unit{map[string]any{group: name, number: i + 1}, fmt.Sprintf("%s, %s %d", label(name), strings.ToLower(label(number)), i+1), s})
			}
		}
	}
	return out
}

// storeFieldOf is the field of one property; false: no form asks for it.
func storeFieldOf(p schema, name, axis, title string, asks map[string]study.Ask) (rating.Field, bool) {
	ask := asks[axis]
	if ask.Title == "" {
		ask.Title = title
	}
	f := rating.Field{Name: name, Axis: axis, Title: ask.Title, Help: ask.Help}
	options := func(values []string) {
		for i, v := range values {
			o := rating.Option{Value: v, Text: strings.ToLower(label(v))}
			if i < 9 {
				o.Key = strconv.Itoa(i + 1)
			}
			f.Options = append(f.Options, o)
		}
	}
	switch {
	case p.Type == "boolean":
		f.Options = []rating.Option{{Value: "true", Text: "yes", Key: "1"}, {Value: "false", Text: "no", Key: "2"}}
	case p.Type == "integer" && p.Minimum != nil && p.Maximum != nil && *p.Maximum-*p.Minimum < 10:
		return storeGraded(name, axis, *p.Minimum, *p.Maximum, ask), true
	case len(p.Enum) > 0:
		options(p.Enum)
	case p.Type == "array" && p.Items != nil && len(p.Items.Enum) > 0:
		f.Several = true
		options(p.Items.Enum)
	default:
		return f, false
	}
	return f, true
}

// storeGraded is a field of whole grades.
func storeGraded(name, axis string, low, high float64, ask study.Ask) rating.Field {
	f := rating.Field{Name: name, Axis: axis, Title: ask.Title, Help: ask.Help, Number: true}
	if f.Title == "" {
		f.Title = axis
	}
	for i := 0; low+float64(i) <= high; i++ {
		value := strconv.FormatFloat(low+float64(i), 'f', -1, 64)
		o := rating.Option{Value: value, Text: value}
		if len(value) == 1 {
			o.Key = value
		}
		if i < len(ask.Grades) {
			o.Text = ask.Grades[i]
		}
		f.Options = append(f.Options, o)
	}
	return f
}

// axisField is the field of an axis that people alone rate.
func axisField(a judge.Axis, asks map[string]study.Ask) rating.Field {
	return storeGraded(a.Name, a.Name, a.Low, a.High, asks[a.Name])
}

// label is a machine's name for people.
func label(name string) string {
	s := strings.NewReplacer("_", " ").Replace(strings.TrimPrefix(name, "is_"))
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// verdict is what a person said, as the rubric's judges say it; false: there is none,
// because he could not judge what it cannot lack. A unit that he could not judge is left
// out of the list.
func (f form) verdict(values map[string][]string) (json.RawMessage, bool) {
	out := map[string]any{}
	for _, name := range f.schema.Required {
		p := f.schema.Properties[name]
		switch {
		case name == f.list:
			list := []any{}
			for i, u := range f.units {
				item := map[string]any{}
				for k, v := range u.keys {
					item[k] = v
				}
				whole := true
				for _, k := range p.Items.Required {
					if _, key := u.keys[k]; key {
						continue
					}
					v, ok := valueOf(p.Items.Properties[k], values[fmt.Sprintf("%s/%d/%s", f.rubric.Name, i+1, k)])
					whole = whole && ok
					item[k] = v
				}
				if whole {
					list = append(list, item)
				}
			}
			if len(list) == 0 {
				return nil, false
			}
			out[name] = list
		default:
			v, ok := valueOf(p, values[f.rubric.Name+"/"+name])
			if !ok {
				return nil, false
			}
			out[name] = v
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic("agree: internal error: " + err.Error())
	}
	return b, true
}

// valueOf is what was chosen, as JSON has it; false: the person could not say.
func valueOf(p schema, said []string) (any, bool) {
	switch {
	case p.Type == "array":
		if said == nil {
			said = []string{}
		}
		return said, true
	case p.Type == "string" && len(p.Enum) == 0:
		return "", true
	case len(said) != 1 || said[0] == rating.CannotJudge:
		return nil, false
	case p.Type == "boolean":
		return said[0] == "true", true
	case p.Type == "integer":
		n, err := strconv.Atoi(said[0])
		return n, err == nil
	}
	return said[0], true
}
