// Cases reads cases of several images in MedThinkVQA's format: JSON lines or
// Parquet, a row a case.
//
//  1. Rows reads a file row by row, of either kind, as texts by column.
//  2. A row becomes a Record, or problems that say what is wrong where, all of them.
//  3. Ratings reads what experts said of steps, which belongs to a case by title and
//     history.

package dataset

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/harness/dataset/table"
)

// maxImages is the most images of a case.
const maxImages = 49

// caseMaxLine is the longest line that is read, in bytes.
const caseMaxLine = 8 << 20

// marker is a column that no other format has.
const marker = "CLINICAL_HISTORY"

// record is a row.
type record struct {
	Row                                int
	ID                                 string // of the images' folder, "case00017"; else of the row
	Title, History, Findings, Interval string
	Discussion                         []caseSection // nil: none
	Options                            []string      // A to E
	Answer                             string        // a label
	Chapter, Block, Category           string
	Longitudinal, Rare                 *bool
	Timepoints                         *int
	Images                             []caseImage
	Cluster                            string // what the column asked for has; "": nothing, or none was asked for
}

// caseSection is a part of a discussion; Name is "" where the text is not divided.
type caseSection struct{ Name, Text string }

// caseImage is one of a case: a file, or embedded.
type caseImage struct {
	Column                         string // "image_01", where it stands
	ID, Path                       string
	Caption, Modality, Submodality string
	Embedded                       *table.Picture // nil: a file
}

// caseRow is a row as texts by column, null and absent alike "".
type caseRow struct {
	number   int
	text     func(column string) string
	embedded func(column string) *table.Picture // nil: none
	cluster  string                             // see JSONL
	none     func() string                      // what is said where there is nothing of cluster
	record   record
	bad      func(column, want, got string)
}

// caseJSONL reads the lines of a file, each with what it has under the key cluster; "": none.
func caseJSONL(file string, in io.Reader, cluster string) (records []record, problems []table.Problem, err error) {
	problems, err = table.EachLine(file, in, caseMaxLine, func(number int, line []byte, bad func(column, want, got string)) {
		n := 0
		note := func(column, want, got string) { n++; bad(column, want, got) }
		v, issues := table.ParseJSON(line)
		for _, i := range issues {
			note(i.Path, i.Want, i.Got)
		}
		object, ok := v.(map[string]any)
		if len(issues) == 0 && !ok {
			note("$", "a JSON object", table.Kind(v))
		}
		if n > 0 {
			return
		}
		r := caseRow{number: number, none: func() string { return table.Keys(object, cluster) }, bad: note, cluster: cluster, text: func(column string) string {
			text, _ := table.Plain(at(object, column))
			return text
		}}
		for _, column := range readable(object, cluster) {
			if _, ok := table.Plain(at(object, column)); !ok {
				note(column, "a text, a number, true, false or null", table.Kind(at(object, column)))
			}
		}
		if r.read(); n == 0 {
			records = append(records, r.record)
		}
	})
	return records, problems, err
}

// at is a column's value; a dotted name is a key of an object.
func at(object map[string]any, column string) any {
	if head, key, ok := strings.Cut(column, "."); ok {
		inner, _ := object[head].(map[string]any)
		return inner[key]
	}
	return object[column]
}

// readable are the columns of an object that a record is made of. Others are nobody's
// business.
func readable(object map[string]any, cluster string) []string {
	var names []string
	known := append(caseColumns(maxImages), cluster)
	for name, v := range object {
		if inner, ok := v.(map[string]any); ok && name == "options" {
			for key := range inner {
				names = append(names, name+"."+key)
			}
			continue
		}
		if slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// caseColumns are those that a record of up to so many images is made of.
func caseColumns(images int) []string {
	names := []string{"title", "CLINICAL_HISTORY", "IMAGING_FINDINGS", "discussion", "interval_text", "options", "correct_answer", "correct_answer_text",
		"ICD Chapter", "ICD Block", "ICD Category", "is_longitudinal", "timepoint_count", "image_count", "rare_disease"}
	for _, l := range labels() {
		names = append(names, "options."+l)
	}
	for n := 1; n <= images; n++ {
		for _, part := range []string{"id", "path", "caption", "modality", "sub_modality"} {
			names = append(names, fmt.Sprintf("image_%02d_%s", n, part))
		}
	}
	return names
}

func labels() []string { return []string{"A", "B", "C", "D", "E"} }

// caseParquet reads the rows of a file, each with what it has in the column cluster ("": none),
// and looks at embedded images one after another.
func caseParquet(file, cluster string) (records []record, problems []table.Problem, err error) {
	leaves, err := table.ParquetLeaves(file)
	if err != nil {
		return nil, nil, err
	}
	if cluster != "" && !slices.Contains(leaves, cluster) {
		return nil, []table.Problem{{File: file, Want: "the column " + cluster + " (cluster: " + cluster + ")", Got: table.JSONColumns(leaves, cluster)}}, nil
	}
	want := table.Columns{}
	for _, name := range leaves {
		if name == cluster || slices.Contains(caseColumns(maxImages), name) {
			want.Any = append(want.Any, name)
		}
	}
	for n := 1; n <= maxImages; n++ {
		for _, name := range []string{fmt.Sprintf("image_%02d", n), fmt.Sprintf("image_%02d.bytes", n)} {
			if slices.Contains(leaves, name) {
				want.Images = append(want.Images, name)
			}
		}
	}
	if !slices.Contains(want.Any, marker) {
		return nil, nil, fmt.Errorf("%s has no column %s: expected MedThinkVQA's", file, marker)
	}
	lists, err := table.ParquetRows(file, want, func(s table.Row) {
		n := 0
		r := caseRow{number: s.Number, cluster: cluster, none: func() string { return "none" }, bad: func(column, want, got string) {
			n++
			problems = append(problems, table.Problem{File: file, Row: s.Number, Column: column, Want: want, Got: got})
		}}
		r.text = func(column string) string {
			if i := slices.Index(want.Any, column); i >= 0 {
				return s.Texts[i]
			}
			return ""
		}
		r.embedded = func(column string) *table.Picture {
			i := slices.IndexFunc(want.Images, func(name string) bool { return name == column || name == column+".bytes" })
			if i < 0 || s.Images[i].Bad == table.None {
				return nil
			}
			return &s.Images[i]
		}
		if r.read(); n == 0 {
			records = append(records, r.record)
		}
	})
	for _, column := range lists {
		problems = append(problems, table.Problem{File: file, Column: column, Want: "a column of single values", Got: "another kind"})
	}
	return records, problems, err
}

// read makes a record of a row.
func (r *caseRow) read() {
	c := &r.record
	c.Row = r.number
	text := func(column string, needed bool) string {
		v := strings.TrimSpace(r.text(column))
		switch {
		case !utf8.ValidString(v):
			r.bad(column, "UTF-8 text", table.Quote(v))
		case v == "" && needed:
			r.bad(column, "a text", "none")
		}
		return v
	}
	c.Title, c.History, c.Findings = text("title", false), text("CLINICAL_HISTORY", true), text("IMAGING_FINDINGS", false)
	c.Discussion, c.Interval = sections(text("discussion", false)), text("interval_text", false)
	c.Chapter, c.Block, c.Category = text("ICD Chapter", false), text("ICD Block", false), text("ICD Category", false)
	c.Longitudinal, c.Rare, c.Timepoints = r.flag("is_longitudinal"), r.flag("rare_disease"), r.whole("timepoint_count")
	if r.cluster != "" {
		if c.Cluster = strings.TrimSpace(r.text(r.cluster)); c.Cluster == "" {
			r.bad(r.cluster, table.Together(r.cluster), r.none())
		}
	}
	r.options()
	r.answer()
	r.images()
	c.ID = fmt.Sprintf("row-%05d", r.number)
	for _, im := range c.Images {
		if id := folder.FindStringSubmatch(im.Path); id != nil {
			c.ID = id[1]
			break
		}
	}
}

// folder is a case's, in the path of an image.
var folder = regexp.MustCompile(`(?:^|[/\\])(case[0-9]+)[/\\]`)

// options are an object of A to E, or its JSON as text.
func (r *caseRow) options() {
	given := map[string]string{}
	if s := strings.TrimSpace(r.text("options")); s != "" {
		v, issues := table.ParseJSON([]byte(s))
		for _, i := range issues {
			r.bad("options", i.Want, i.Got)
		}
		object, ok := v.(map[string]any)
		if !ok {
			if len(issues) == 0 {
				r.bad("options", "an object of A to E, or its JSON", table.Kind(v))
			}
			return
		}
		for key, v := range object {
			text, ok := v.(string)
			if !ok || !slices.Contains(labels(), key) && text != "" {
				r.bad("options."+key, "a text under each of A to E", table.Kind(v))
			}
			given[key] = text
		}
	} else {
		for _, l := range labels() {
			given[l] = r.text("options." + l)
		}
	}
	for i, l := range labels() {
		text := strings.TrimSpace(given[l])
		switch {
		case text == "" || !utf8.ValidString(text):
			r.bad("options."+l, "a text", quoted(text))
		case slices.ContainsFunc(r.record.Options, func(o string) bool { return strings.EqualFold(o, text) }):
			r.bad("options."+l, "five different options", table.Quote(text)+" again")
		}
		r.record.Options = append(r.record.Options[:i], text)
	}
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return table.Quote(s)
}

// answer is a label; the text, where there is one, has to be that of its option.
func (r *caseRow) answer() {
	label := strings.ToUpper(strings.TrimSpace(r.text("correct_answer")))
	i := slices.Index(labels(), label)
	if i < 0 {
		r.bad("correct_answer", "A, B, C, D or E", quoted(r.text("correct_answer")))
		return
	}
	r.record.Answer = label
	if said := strings.TrimSpace(r.text("correct_answer_text")); said != "" && i < len(r.record.Options) && !strings.EqualFold(said, r.record.Options[i]) {
		r.bad("correct_answer_text", "the text of option "+label+", "+table.Quote(r.record.Options[i]), table.Quote(said))
	}
}

// images are numbered from 1, without a gap.
func (r *caseRow) images() {
	last := 0
	var all [maxImages + 1]*caseImage
	for n := 1; n <= maxImages; n++ {
		column := fmt.Sprintf("image_%02d", n)
		im := caseImage{Column: column, ID: r.text(column + "_id"), Path: r.text(column + "_path"), Caption: strings.TrimSpace(r.text(column + "_caption")),
			Modality: strings.TrimSpace(r.text(column + "_modality")), Submodality: strings.TrimSpace(r.text(column + "_sub_modality"))}
		if r.embedded != nil {
			im.Embedded = r.embedded(column)
		}
		if im == (caseImage{Column: column}) {
			continue
		}
		for _, text := range []string{im.ID, im.Path, im.Caption, im.Modality, im.Submodality} {
			if !utf8.ValidString(text) {
				r.bad(column, "UTF-8 text", table.Quote(text))
			}
		}
		all[n], last = &im, n
	}
	for n := 1; n <= last; n++ {
		column := fmt.Sprintf("image_%02d", n)
		switch im := all[n]; {
		case im == nil:
			r.bad(column+"_path", "an image: there is a later one", "none")
		case im.Embedded != nil && im.Embedded.Bad != "":
			r.bad(column, "a readable PNG, JPEG, WebP, GIF, BMP or TIFF image", im.Embedded.Bad)
		case im.Embedded == nil && im.Path == "":
			r.bad(column+"_path", "the path of an image, or an embedded one", "none")
		default:
			r.record.Images = append(r.record.Images, *im)
		}
	}
	if last == 0 {
		r.bad("image_01_path", fmt.Sprintf("1 to %d images", maxImages), "none")
	}
	if n := r.whole("image_count"); n != nil && *n != last && last > 0 {
		r.bad("image_count", fmt.Sprintf("%d, as many as there are", last), strconv.Itoa(*n))
	}
}

// flag reads true and false in the words of spreadsheets; nil: not stated.
func (r *caseRow) flag(column string) *bool {
	text := strings.TrimSpace(r.text(column))
	if text == "" {
		return nil
	}
	v, ok := flagOf(text)
	if !ok {
		r.bad(column, "true or false", table.Quote(text))
		return nil
	}
	return &v
}

func flagOf(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "1.0", "yes":
		return true, true
	case "false", "0", "0.0", "no":
		return false, true
	}
	return false, false
}

// whole reads a number from 0 on, also one that a table made a fraction of ("2.0").
func (r *caseRow) whole(column string) *int {
	text := strings.TrimSuffix(strings.TrimSpace(r.text(column)), ".0")
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		r.bad(column, "a whole number from 0 on", table.Quote(text))
		return nil
	}
	return &n
}

// heading is a line, or the beginning of one, that names a part of a discussion.
var heading = regexp.MustCompile(`(?i)^[\s#*_]*(background|clinical perspectives?|imaging perspectives?|outcomes?|take[- ]home(?: messages?| points?)?(?: */ *teaching points?)?)[\s*_]*(?::[\s*_]*|$)`)

// sections divides a discussion by the headings of its five parts.
func sections(text string) []caseSection {
	if text == "" {
		return nil
	}
	var out []caseSection
	put := func(line string) {
		if len(out) == 0 {
			if strings.TrimSpace(line) == "" {
				return
			}
			out = append(out, caseSection{})
		}
		out[len(out)-1].Text += line + "\n"
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if at := heading.FindStringSubmatchIndex(line); at != nil {
			name := strings.ToLower(line[at[2]:at[3]])
			for _, known := range []string{"background", "clinical perspective", "imaging perspective", "outcome"} {
				if strings.HasPrefix(name, known) {
					name = known
				}
			}
			if strings.HasPrefix(name, "take") {
				name = "take-home"
			}
			out = append(out, caseSection{Name: name})
			line = line[at[1]:]
			if strings.TrimSpace(line) == "" {
				continue
			}
		}
		put(line)
	}
	for i := range out {
		out[i].Text = strings.TrimSpace(out[i].Text)
	}
	return slices.DeleteFunc(out, func(s caseSection) bool { return s.Text == "" })
}
