package report

import (
	_ "embed"
	"reflect"
	"strings"
	"text/template"

	"assay/results"
)

//go:embed sentences.tmpl
var sentenceForms string

var sentenceForm = template.Must(template.New("").Funcs(template.FuncMap{
	"join": strings.Join, "listed": listed, "few": few, "count": results.Count, "value": reflect.Indirect,
}).Parse(sentenceForms))

// said is one of the sentences of sentences.tmpl about something.
func said(name string, of any) string {
	var b strings.Builder
	if err := sentenceForm.ExecuteTemplate(&b, name, of); err != nil {
		panic("report: internal error: " + err.Error())
	}
	return b.String()
}
